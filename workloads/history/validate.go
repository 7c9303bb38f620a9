package history

import (
	"fmt"
	"time"
)

const (
	// maxTimeNS bounds every time and every error bound, either way: a few of them can
	// be added without an overflow, which would turn a late event into an early one.
	maxTimeNS = 1 << 60 // 36 years
	// maxSpanNS bounds the parts of a run.
	maxSpanNS = int64(1000 * time.Hour)
	// maxCount bounds what events are summed up by.
	maxCount = 1 << 40
)

// within refuses a figure out of a range. The error names the field, as in the file.
func within[T int64 | uint64](field string, have, low, high T) error {
	if have < low || have > high {
		return fmt.Errorf("%s: have %d, want %d to %d", field, have, low, high)
	}
	return nil
}

// validate refuses figures that cannot be counted with, and files of another version.
func (e *Event) validate() error {
	for i, ns := range [...]int64{e.AtNS, e.FromNS, e.SentNS} {
		if err := within([]string{"at_ns", "from_ns", "sent_ns"}[i], ns, -maxTimeNS, maxTimeNS); err != nil {
			return err
		}
	}
	for i, n := range [...]uint64{e.Count, e.Messages, e.Wakeups, e.Version, e.Base} {
		if err := within([]string{"count", "messages", "wakeups", "version", "base"}[i], n, 0, maxCount); err != nil {
			return err
		}
	}
	if err := within("err_ns", e.ErrNS, 0, maxTimeNS); err != nil || e.Run == nil {
		return err
	}
	return e.Run.validate()
}

func (r *Run) validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("run.schema: have %q, want %q: another version of locklab wrote this", r.Schema, Schema)
	}
	if !(r.OfferedPS >= 0) {
		return fmt.Errorf("run.offered_per_s: have %v, want 0 or more", r.OfferedPS)
	}
	spans := map[string]int64{
		"run.warmup_ns": r.WarmupNS, "run.duration_ns": r.DurationNS, "run.lease_ns": r.LeaseNS, "run.second_ns": r.SecondNS,
	}
	for i, p := range r.Planned {
		spans[fmt.Sprintf("run.planned[%d].at_ns", i)], spans[fmt.Sprintf("run.planned[%d].for_ns", i)] = p.AtNS, p.ForNS
	}
	for field, ns := range spans {
		if err := within(field, ns, 0, maxSpanNS); err != nil {
			return err
		}
	}
	return nil
}
