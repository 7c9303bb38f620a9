// Package sound says whether a run may decide anything: whether its nodes lived, its faults
// were proven, its records are whole, its machines had time, and its load came as planned.
// What the lock did is not its business.
package sound

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// flaw is a reason why the run decides nothing.
type flaw struct {
	code result.Code
	record.Flaws
	deadStands bool
}

// judge judges one run.
type judge struct {
	*record.Run
	missing, wrong record.Flaws
}

// Judge looks for flaws in the order in which they are told; the first one decides. It puts that, the
// faults and the machines into the row of the run, and says whether a dead lock may be the cause of
// the flaw: that stands.
func Judge(r *record.Run, row *result.Row) (deadStands bool) {
	j := &judge{Run: r, missing: r.Missing, wrong: r.Contradictions}
	givenUp, saturated := flaw{code: result.GivenUp}, flaw{code: result.Saturated}
	for _, why := range j.GivenUp {
		givenUp.Add("%s", why)
	}
	nodes, lab, hands := flaw{code: result.NodeLost}, flaw{code: result.Standstill}, flaw{code: result.ByHand}
	for _, f := range slices.Concat(j.Faults, j.unasked()) {
		switch {
		case !f.Unasked:
		case f.Kind == history.FaultByHand:
			hands.Add("%s", f.Target)
		case f.Kind == history.FaultStandstill:
			lab.Add("%s", f.Target)
		default:
			nodes.Add("%s", f.Target)
		}
		f.AskedMS, f.BeganMS, f.HealMS, f.EndedMS = j.MS(f.Asked), j.MS(f.Began), j.MS(f.Heal), j.MS(f.Ended)
		row.Faults = append(row.Faults, f.Fault)
	}
	row.Hosts = j.machines(&saturated)
	j.checkRecords()
	row.Verdict.Sound = result.Statement{State: result.OK}
	for _, found := range []flaw{
		givenUp, nodes, lab, hands, j.unproven(),
		{code: result.Contradiction, Flaws: j.wrong},
		{code: result.Missing, Flaws: j.missing},
		saturated, j.late(), j.linksUnused(), j.nothing(),
	} {
		if found.N > 0 {
			row.Verdict.Sound = result.Statement{State: result.Unknown, Code: found.code, N: float64(found.N), Of: found.First}
			return found.deadStands
		}
	}
	return false
}

// unasked lists what is not in the ledger, in the order of time: nodes that ended or stood still, and
// programs of the lab that stood still, although no scenario asked for it. What happened after the end
// of the run touches nothing.
func (j *judge) unasked() (list []record.Fault) {
	add := func(kind, target, why string, log []string, from, to int64) {
		if from < j.End {
			f := result.Fault{ID: kind + "/" + target, Kind: kind, Target: target, Why: why, Log: log}
			f.Proven, f.Unasked = true, true
			list = append(list, record.Fault{Fault: f, Asked: record.Never, Began: from, Heal: record.Never, Ended: to})
		}
	}
	for _, n := range j.Nodes {
		target := "node " + n.Name
		for k, e := range n.Events {
			switch e.State {
			case history.NodeExited:
				if !j.asked(n, e) {
					add(history.FaultNodeLoss, target, e.Error, e.Log, e.AtNS,
						next(n.Events[k+1:], history.NodeStarted, history.NodeReady))
				}
			case history.NodeKilled, history.NodePaused, history.NodeLost:
				if e.AtNS < j.Drain && !j.asked(n, e) {
					add(history.FaultNodeLoss, target, e.State, e.Log, e.AtNS,
						next(n.Events[k+1:], history.NodeStarted, history.NodeResumed))
				}
			}
		}
	}
	for i := range j.Machines {
		// The program that measured was stopped, by hand or with its whole machine: it woke too late by a
		// second, although hardly anything waited for a CPU.
		if m := j.Machines[i]; m.Machine.LateNS >= j.limit(time.Second) && m.Machine.WaitNS < m.Machine.LateNS/2 {
			target := history.TargetController
			if m.Host != "" {
				target = history.TargetAgent + m.Host
			}
			add(history.FaultStandstill, target, "", nil, m.AtNS-m.Machine.LateNS, m.AtNS)
		}
	}
	slices.SortStableFunc(list, func(a, b record.Fault) int {
		return cmp.Or(cmp.Compare(a.Began, b.Began), strings.Compare(a.Target, b.Target))
	})
	return list
}

// next is when a node next came into one of the states.
func next(events []history.Event, states ...string) int64 {
	for _, e := range events {
		if slices.Contains(states, e.State) {
			return e.AtNS
		}
	}
	return record.Never
}

// asked says that the ledger explains the end or the standstill of a node. One that ended by itself
// is a program of the user's under a fault of its own, or met a full disk; a signal was a hand's.
func (j *judge) asked(n *record.Node, e history.Event) bool {
	told := slices.Contains([]string{"signal-killed", "signal-terminated", "signal-interrupt"}, e.Error)
	return slices.ContainsFunc(j.Faults, func(f record.Fault) bool {
		to := f.Ended
		switch {
		case e.State != history.NodeExited && f.Unasked:
			return true // it is told already
		case e.State != history.NodeExited:
		case f.Kind != "external" && (f.Kind != "full-disk" || told):
			return false
		case to < record.Never:
			to += j.limit(time.Second)
		}
		return slices.Contains(f.Nodes, n.Name) && f.First() <= e.AtNS && e.AtNS <= to
	})
}

func (j *judge) limit(d time.Duration) int64 { return int64(j.Head.Limit(d)) }

// unproven are the faults of the scenario that did not happen as they were planned.
func (j *judge) unproven() flaw {
	const late = int64(1500 * time.Millisecond)
	f, known := flaw{code: result.Unproven}, map[string]*record.Fault{}
	for i := range j.Faults {
		fault := &j.Faults[i]
		if known[fault.ID] = fault; !fault.Unasked && !fault.Proven {
			f.Add("%s", fault.ID)
		}
	}
	for _, p := range j.Head.Planned {
		due, fault, waits := j.Measure+p.AtNS, known[p.ID], late
		if p.Aim.At != "" {
			waits *= 2 // for the one that is to be hit
		}
		switch {
		case fault == nil || fault.Asked == record.Never:
			if due+late < j.Drain || j.Ended { // else the run was over first
				f.Add("%s: not in the ledger", p.ID)
			}
		case fault.Asked < due-late || fault.Asked > due+waits:
			f.Add("%s: asked for at the wrong time", p.ID)
		case fault.Heal < min(fault.Asked+p.ForNS/2, j.Drain),
			fault.Heal == record.Never && !fault.Away && p.ForNS > 0 && fault.Asked+p.ForNS+late < j.Drain:
			f.Add("%s: healed at the wrong time", p.ID)
		}
	}
	return f
}

// linksUnused says that a program of the user's sent nothing through the links that were
// broken, so that breaking them shows nothing of it.
func (j *judge) linksUnused() flaw {
	f := flaw{code: result.LinksUnused, deadStands: true}
	program := j.Head.Program
	if program == nil {
		return f
	}
	beside := func(node string) bool { return !slices.Contains(program.Servers, node) } // perhaps a master
	broken := slices.ContainsFunc(j.Faults, func(l record.Fault) bool {
		return len(l.From)+len(l.Nodes) > 0 && !slices.ContainsFunc(l.Nodes, beside)
	})
	seen, bytes := len(program.Servers) == 0, int64(0)
	for _, e := range j.Usage {
		for _, u := range e.Usage {
			if !beside(u.Node) && u.InBytes != nil && u.OutBytes != nil && e.FromNS < j.Drain && e.AtNS > j.Measure {
				seen, bytes = true, bytes+*u.InBytes+*u.OutBytes
			}
		}
	}
	if broken && seen && bytes == 0 {
		f.Add("%s", j.Head.Lock)
	}
	return f
}

// nothing says that nothing was asked in the measured part, or that nothing came of the grants.
func (j *judge) nothing() flaw {
	f := flaw{code: result.NothingToJudge, deadStands: true}
	asked, granted := false, false
	for _, a := range j.Acquires {
		if a.Outcome != record.Unsent && a.At >= j.Measure && a.From < j.Drain {
			asked, granted = true, granted || a.Outcome == record.OK
		}
	}
	served := func(q record.Request) bool { return q.Outcome == record.OK && q.From >= j.Measure && q.From < j.Drain }
	wrote := func(e history.Event) bool { return e.Kind == history.KindWrite && e.State != history.WriteUnknown }
	switch workload := j.Head.Workload; {
	case !asked:
		f.Add("acquisitions")
	case granted && workload == history.Matchmaking && !slices.ContainsFunc(j.Requests, served):
		f.Add("requests")
	case granted && workload == history.FencedWrite && !slices.ContainsFunc(j.Accesses, wrote):
		f.Add("writes")
	}
	return f
}
