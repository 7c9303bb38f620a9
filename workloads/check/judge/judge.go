// Package judge makes the row of a result from the history of a run. It asks in this order, each
// package only what it is for, and itself compares the answers with what was expected:
//
//	history ──▶ record ──▶ sound     may this run decide anything?
//	                  ──▶ safety    did two hold at once?
//	                  ──▶ liveness  how long did nobody get the lock?
//	                  ──▶ measure   how fast, and at what cost?
package judge

import (
	"context"
	"slices"
	"sync"
	"time"

	"locklab/workloads/check/liveness"
	"locklab/workloads/check/measure"
	"locklab/workloads/check/record"
	"locklab/workloads/check/safety"
	"locklab/workloads/check/sound"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// File judges the history in a file.
func File(ctx context.Context, path string) (result.Row, error) {
	r, err := record.Read(ctx, path)
	if err != nil {
		return result.Row{}, err
	}
	return Run(r), nil
}

// Run judges a run.
func Run(r *record.Run) result.Row {
	head := &r.Head
	var measures measure.Measures
	var trust sound.Findings
	var safe safety.Findings
	var alive liveness.Findings
	var all sync.WaitGroup
	for _, part := range []func(){
		func() { measures = measure.Of(r) }, func() { trust = sound.Judge(r) }, func() { safe = safety.Judge(r) }, func() { alive = liveness.Judge(r) },
	} {
		all.Go(part)
	}
	all.Wait()
	row := result.Row{
		Lock: head.Lock, Scenario: head.Scenario, Workload: head.Workload, Repeat: head.Repeat, Seed: head.Seed, Played: head.Played,
		Expected: expected(r), Figures: measures.Figures, Errors: measures.Errors, Peers: measures.Peers, Nodes: measures.Nodes, Curve: measures.Curve,
		MeasuredMS: ms(r.Drain - r.Measure), Violations: safe.Violations, Hosts: trust.Machines,
		Partial: !r.Ended || !head.Played && r.Drain-r.Measure < head.DurationNS-int64(time.Millisecond),
	}
	for _, f := range slices.Concat(r.Faults, trust.Unasked) {
		row.Faults = append(row.Faults, fault(r, &f))
	}
	for _, o := range alive.Outages {
		row.Outages = append(row.Outages, result.Outage{Of: o.Of, FromMS: since(r, o.From), ToMS: since(r, o.To), Open: o.Open})
	}
	safetyFigures(r, row.Figures, &safe)
	livenessFigures(r, row.Figures, &alive)
	row.Verdict = result.Verdict{Sound: trust.Statement, Safety: safe.Statement, Liveness: alive.Statement, Word: alive.Word}
	if trust.DeadStands && alive.Word == result.Dead { // a dead lock keeps clients busy, so that the load comes late
		row.Verdict.Sound = result.Statement{State: result.OK}
	}
	row.Verdict.As, row.Verdict.Why = compare(r, &row)
	return row
}

// ms is a time in milliseconds.
func ms(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }

// since is a moment in milliseconds since the measured part began.
func since(r *record.Run, at int64) float64 {
	if at == record.Never {
		return result.Never
	}
	return ms(at - r.Measure)
}

// expected is what the scenario expects of the lock.
func expected(r *record.Run) result.Expected {
	e := r.Head.Expect
	if e == nil {
		return result.Expected{}
	}
	return result.Expected{Safety: e.Safety, Liveness: e.Liveness, Served: e.Availability.Outside, ServedInFault: e.Availability.During}
}

// fault is one in milliseconds of the measured part.
func fault(r *record.Run, f *record.Fault) result.Fault {
	return result.Fault{
		ID: f.ID, Kind: f.Kind, Target: f.Target, From: f.From, To: f.To, Nodes: f.Nodes,
		Proven: f.Proven, Unasked: f.Unasked(), Why: f.Why, Log: f.Log,
		AskedMS: since(r, f.Asked), BeganMS: since(r, f.Began), HealMS: since(r, f.Heal), EndedMS: since(r, f.Ended), KeptMS: ms(f.KeptNS),
	}
}

// safetyFigures adds those that a run of its workload can have.
func safetyFigures(r *record.Run, figures map[string]float64, f *safety.Findings) {
	switch r.Head.Workload {
	case history.Matchmaking:
		figures["duplicates"], figures["unreachable"] = float64(f.Duplicates), float64(f.Unreachable)
	case history.FencedWrite:
		figures["stale_writes"], figures["lost_updates"], figures["fenced_writes"] = float64(f.StaleWrites), float64(f.LostUpdates), float64(f.FencedWrites)
	}
	figures["overlaps"], figures["in_doubt"], figures["zombie_ms"] = float64(f.Overlaps), float64(f.InDoubt), ms(f.ZombieNS)
	if slices.ContainsFunc(r.Acquires, func(a record.Acquire) bool { return a.Token > 0 }) {
		figures["tokens_back"] = float64(f.TokensBack)
	}
}

// livenessFigures adds those that were measured.
func livenessFigures(r *record.Run, figures map[string]float64, f *liveness.Findings) {
	if f.Word == result.NotJudged {
		return
	}
	figures["outage_ms"] = ms(f.Lock.Len())
	if len(r.Canaries) > 0 {
		figures["zone_outage_ms"] = ms(f.Zone.Len())
	}
	if len(r.Acquires) > 0 {
		figures["resource_outage_ms"] = ms(f.Resource.Len())
	}
	if f.Healed {
		figures["recovery_ms"] = ms(f.RecoveryNS)
	}
	for name, share := range map[string]liveness.Share{"served": f.Served, "served_in_fault": f.ServedInFault, "acquired": f.Acquired} {
		if of, known := share.Of(); known {
			figures[name] = of
		}
	}
}

// compare says how the verdict compares with what was expected, and why it does not.
func compare(r *record.Run, row *result.Row) (result.Comparison, result.Statement) {
	v, want := &row.Verdict, &row.Expected
	failed := func(code result.Code, by result.Statement) (result.Comparison, result.Statement) {
		return result.NotAsExpected, result.Statement{State: result.Failed, Code: code, N: by.N, Of: by.Of}
	}
	switch {
	case v.Sound.State != result.OK:
		return result.Unsound, v.Sound
	case v.Safety.State == result.Unknown && want.Safety != "":
		return result.Unsound, v.Safety
	case want.Control() && v.Safety.State == result.OK:
		return result.Silent, result.Statement{State: result.Failed, Code: result.ControlSilent}
	case want.Safety == result.Safe && v.Safety.State == result.Failed:
		return failed(result.NotSafe, v.Safety)
	case v.Word == result.Dead:
		return failed(result.IsDead, v.Liveness)
	case len(want.Liveness) > 0 && v.Liveness.State == result.Unknown:
		return result.Unsound, v.Liveness
	case v.Word == result.Stalls && slices.Contains(want.Liveness, result.Down) && !judged(r, "served_in_fault"): // too short a fault to tell
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

// judged says that a share of the requests is compared with what was expected: that of the whole
// run if nothing was broken, and that of the fault's time if it lasted long enough.
func judged(r *record.Run, share string) bool {
	if share == "served" {
		return len(r.Faults) == 0
	}
	return slices.ContainsFunc(r.Faults, func(f record.Fault) bool {
		to := f.Heal
		if to-f.Began < int64(time.Millisecond) { // it heals itself
			to = f.Ended
		}
		return f.Began != record.Never && min(to, r.Drain)-f.Began >= int64(r.Head.Limit(1500*time.Millisecond))
	})
}
