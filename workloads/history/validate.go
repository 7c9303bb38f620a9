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

// validate refuses figures that cannot be counted with, and files of another version.
// Errors name the field, by its name in the file.
func (e *Event) validate() error {
	for _, of := range [...]struct {
		field        string
		n, low, high int64
	}{
		{"at_ns", e.AtNS, -maxTimeNS, maxTimeNS},
		{"from_ns", e.FromNS, -maxTimeNS, maxTimeNS},
		{"sent_ns", e.SentNS, -maxTimeNS, maxTimeNS},
		{"err_ns", e.ErrNS, 0, maxTimeNS},
	} {
		if of.n < of.low || of.n > of.high {
			return outOfRange(of.field, of.n, of.low, of.high)
		}
	}
	for _, of := range [...]struct {
		field string
		n     uint64
	}{{"count", e.Count}, {"messages", e.Messages}, {"wakeups", e.Wakeups}, {"version", e.Version}, {"base", e.Base}} {
		if of.n > maxCount {
			return outOfRange(of.field, of.n, 0, maxCount)
		}
	}
	if e.Run != nil {
		return e.Run.validate()
	}
	for i, u := range e.Usage {
		for _, of := range []struct {
			field string
			n     *int64
		}{{"cpu_ns", u.CPUNS}, {"memory_bytes", u.MemoryBytes}, {"in_bytes", u.InBytes}, {"out_bytes", u.OutBytes}} {
			if of.n != nil && (*of.n < 0 || *of.n > maxTimeNS) {
				return outOfRange(fmt.Sprintf("usage[%d].%s", i, of.field), *of.n, 0, maxTimeNS)
			}
		}
	}
	return nil
}

func (r *Run) validate() error {
	if r.Schema != Schema {
		return fmt.Errorf("run.schema: have %q, want %q: another version of locklab wrote this", r.Schema, Schema)
	}
	if !(r.OfferedPS >= 0) {
		return fmt.Errorf("run.offered_per_s: have %v, want 0 or more", r.OfferedPS)
	}
	type span struct {
		field string
		ns    int64
	}
	spans := []span{{"warmup_ns", r.WarmupNS}, {"duration_ns", r.DurationNS}, {"lease_ns", r.LeaseNS}, {"rtt_ns", r.RTTNS}, {"second_ns", r.SecondNS}}
	for i, p := range r.Planned {
		at := fmt.Sprintf("planned[%d].", i)
		spans = append(spans, span{at + "at_ns", p.AtNS}, span{at + "for_ns", p.ForNS})
	}
	for _, s := range spans {
		if s.ns < 0 || s.ns > maxSpanNS {
			return outOfRange("run."+s.field, s.ns, 0, maxSpanNS)
		}
	}
	return nil
}

func outOfRange[T int64 | uint64](field string, have, low, high T) error {
	return fmt.Errorf("%s: have %d, want %d to %d", field, have, low, high)
}
