package series

import "locklab/workloads/check/record"

// Read takes from a history what is drawn of it: the requests of players, or in raw workloads the
// acquisitions. What its caller called off is in neither.
func Read(run *record.Run) History {
	at := func(ns int64) float64 { return float64(ns-run.Measure) / 1e6 }
	h := History{DurationMS: max(at(run.Drain), 0)}
	for i := range run.Requests {
		if q := &run.Requests[i]; q.Outcome != record.CalledOff {
			h.Ops = append(h.Ops, Op{DueMS: at(q.From), EndMS: at(q.At), OK: q.Outcome == record.OK, Count: uint64(q.Count)})
		}
	}
	if len(run.Requests) > 0 {
		return h
	}
	for i := range run.Acquires {
		if a := &run.Acquires[i]; a.Outcome != record.CalledOff {
			h.Ops = append(h.Ops, Op{DueMS: at(a.From), EndMS: at(a.At), OK: a.Outcome == record.OK})
		}
	}
	return h
}
