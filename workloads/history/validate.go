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

// figure is a field, by its name in the file, and what it has.
type figure[T int64 | uint64] struct {
	field string
	have  T
}

// within refuses figures out of a range. The error names the field.
func within[T int64 | uint64](low, high T, figures ...figure[T]) error {
	for _, f := range figures {
		if f.have < low || f.have > high {
			return fmt.Errorf("%s: have %d, want %d to %d", f.field, f.have, low, high)
		}
	}
	return nil
}

// validate refuses figures that cannot be counted with, and files of another version.
func (e *Event) validate() error {
	type time = figure[int64]
	type count = figure[uint64]
	err := within(-maxTimeNS, maxTimeNS, time{"at_ns", e.AtNS}, time{"from_ns", e.FromNS}, time{"sent_ns", e.SentNS})
	if err == nil {
		err = within(0, maxTimeNS, time{"err_ns", e.ErrNS})
	}
	if err == nil {
		err = within(0, maxCount, count{"count", e.Count}, count{"messages", e.Messages}, count{"wakeups", e.Wakeups},
			count{"version", e.Version}, count{"base", e.Base})
	}
	if err != nil || e.Run == nil {
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
	spans := []figure[int64]{
		{"run.warmup_ns", r.WarmupNS},
		{"run.duration_ns", r.DurationNS},
		{"run.lease_ns", r.LeaseNS},
		{"run.rtt_ns", r.RTTNS},
		{"run.second_ns", r.SecondNS},
	}
	for i, p := range r.Planned {
		at := fmt.Sprintf("run.planned[%d].", i)
		spans = append(spans, figure[int64]{at + "at_ns", p.AtNS}, figure[int64]{at + "for_ns", p.ForNS})
	}
	return within(0, maxSpanNS, spans...)
}
