// Package check makes the row of a result from the history of a run. It asks these questions in order, each in a
// file of its own, and compares the answers with what was expected:
//
//	history ──▶ record ──▶ sound.go     may this run decide anything?
//	                  ──▶ safety.go    did two hold at once?
//	                  ──▶ liveness.go  how long did nobody get the lock?
//	                  ──▶ measure.go   how fast, and at what cost?
package check

import (
	"context"
	"maps"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// File judges the history in a file.
func File(ctx context.Context, path string) (result.Row, error) {
	r, err := record.Read(ctx, path)
	if err != nil {
		return result.Row{}, err
	}
	return Judge(r), nil
}

// Judge judges a run.
func Judge(r *record.Run) result.Row {
	head := &r.Head
	row := result.Row{
		Lock: head.Lock, Scenario: head.Scenario, Workload: head.Workload,
		Repeat: head.Repeat, Seed: head.Seed, Played: head.Played,
		Figures: map[string]float64{}, MeasuredMS: r.MS(r.Drain),
		Partial: !r.Ended || !head.Played && r.Drain-r.Measure < head.DurationNS-int64(time.Millisecond),
	}
	if e := head.Expect; e != nil {
		row.Expected = result.Expected{Safety: e.Safety, Liveness: e.Liveness}
		row.Expected.Served, row.Expected.ServedInFault = e.Availability.Outside, e.Availability.During
	}
	measured := make(chan result.Row)
	go func() { measured <- measure(r) }() // takes as long as the three statements
	deadStands := judgeSound(r, &row)
	judgeSafety(r, &row, result.MaxViolations)
	judgeLiveness(r, &row)
	m := <-measured
	maps.Copy(row.Figures, m.Figures)
	for name := range row.Figures {
		result.MustFigure(name) // or no report would show it
	}
	row.Errors = m.Errors
	// A dead lock keeps clients busy, so that the load comes late. A lock that is unsafe without the fault is unsafe.
	dead, violated := row.Verdict.Word == result.Dead, row.Verdict.Safety.State == result.Failed
	if deadStands && dead || violated && row.Verdict.Sound.Code == result.LinksUnused {
		row.Verdict.Sound = result.Statement{State: result.OK}
	}
	row.Verdict.As, row.Verdict.Why = compareExpected(r, &row)
	return row
}

// compareExpected compares the verdict with what was expected, and says where they differ.
func compareExpected(r *record.Run, row *result.Row) (result.Comparison, result.Statement) {
	v, want := &row.Verdict, &row.Expected
	failed := func(code result.Code, by result.Statement) (result.Comparison, result.Statement) {
		return result.NotAsExpected, result.Statement{State: result.Failed, Code: code, N: by.N, Of: by.Of}
	}
	switch {
	case v.Sound.State != result.OK:
		return result.Unsound, v.Sound
	case v.Safety.State == result.Unknown && want.Safety != "":
		return result.Unsound, v.Safety
	case want.Control() && v.Safety.State == result.OK && lostNothing(r):
		return result.Unsound, result.Statement{State: result.Unknown, Code: result.NothingLost}
	case want.Control() && v.Safety.State == result.OK:
		return result.Silent, result.Statement{State: result.Failed, Code: result.ControlSilent}
	case want.Safety == result.Safe && v.Safety.State == result.Failed:
		return failed(result.NotSafe, v.Safety)
	case v.Word == result.Dead:
		return failed(result.IsDead, v.Liveness)
	case len(want.Liveness) > 0 && v.Liveness.State == result.Unknown:
		return result.Unsound, v.Liveness
	case v.Word == result.Stalls && slices.Contains(want.Liveness, result.Down) && !judged(r, "served_in_fault"):
		// The fault was too short to tell.
	case len(want.Liveness) > 0 && !slices.Contains(want.Liveness, v.Word):
		return failed(result.NotLive, v.Liveness)
	}
	for name, least := range map[string]float64{"served": want.Served, "served_in_fault": want.ServedInFault} {
		if served, known := row.Of(name); known && served < least && judged(r, name) {
			return failed(result.ServedTooLittle, result.Statement{N: served})
		}
	}
	return result.AsExpected, result.Statement{}
}

// lostNothing says that power was cut, and no disk lost anything by it.
func lostNothing(r *record.Run) bool {
	cut := false
	for i := range r.Faults {
		for _, lost := range r.Faults[i].Lost {
			if cut = true; lost.Bytes > 0 || lost.Names > 0 {
				return false
			}
		}
	}
	return cut
}

// judged says that a share of the requests is compared with what was expected: served if nothing was broken,
// served_in_fault if a fault lasted long enough.
func judged(r *record.Run, share string) bool {
	if share == "served" {
		return len(r.Faults) == 0
	}
	return slices.ContainsFunc(r.Faults, func(f record.Fault) bool {
		to := f.Heal
		if f.HealsItself() {
			to = f.Ended
		}
		return f.Began != record.Never && min(to, r.Drain)-f.Began >= int64(r.Head.Limit(1500*time.Millisecond))
	})
}
