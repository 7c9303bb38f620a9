package check

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/locks"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/result"
)

// flaw is a reason why the run decides nothing.
type flaw struct {
	code result.Code
	record.Flaws
	deadStands bool
}

// soundness says whether a run may decide anything: its nodes lived, its faults were proven, its records are
// whole, its machines had time, and its load came as planned. It does not judge the lock.
type soundness struct {
	*record.Run
	missing, wrong record.Flaws
}

// judgeSound lists flaws, of which the first decides, and puts that, the faults and the machines into the row.
// deadStands says that a dead lock may have caused the flaw: then that verdict stands.
func judgeSound(r *record.Run, row *result.Row) (deadStands bool) {
	j := &soundness{Run: r, missing: r.Missing, wrong: r.Contradictions}
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
		saturated, j.late(), j.nothing(), j.linksUnused(),
	} {
		if found.N > 0 {
			row.Verdict.Sound = result.Statement{State: result.Unknown, Code: found.code, N: float64(found.N), Of: found.First}
			return found.deadStands
		}
	}
	return false
}

// unasked lists nodes that ended or stood still, and programs of the lab that stood still, although no scenario
// asked for it, in order of time. Events after the end of the run do not count.
func (j *soundness) unasked() (list []record.Fault) {
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
						nextOf(n.Events[k+1:], history.NodeStarted, history.NodeReady))
				}
			case history.NodeKilled, history.NodePaused, history.NodeLost:
				if e.AtNS < j.Drain && !j.asked(n, e) {
					add(history.FaultNodeLoss, target, e.State, e.Log, e.AtNS,
						nextOf(n.Events[k+1:], history.NodeStarted, history.NodeResumed))
				}
			}
		}
	}
	for i := range j.Machines {
		// The measuring program was stopped, by hand or with its machine: it woke a second late, although hardly
		// anything waited for a CPU.
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

// nextOf is when a node next came into one of the states.
func nextOf(events []history.Event, states ...string) int64 {
	for _, e := range events {
		if slices.Contains(states, e.State) {
			return e.AtNS
		}
	}
	return record.Never
}

// asked says that the ledger explains the end or the standstill of a node.
func (j *soundness) asked(n *record.Node, e history.Event) bool {
	told := slices.Contains([]string{"signal-killed", "signal-terminated", "signal-interrupt"}, e.Error)
	return slices.ContainsFunc(j.Faults, func(f record.Fault) bool {
		to := f.Ended
		switch {
		case e.State != history.NodeExited && f.Unasked:
			return true // it is listed already
		case e.State != history.NodeExited:
		case f.Aim.Exits == "" || f.Aim.Exits == history.ExitsAlone && told:
			return false
		case to < record.Never:
			to += j.limit(time.Second)
		}
		return slices.Contains(f.Nodes, n.Name) && f.First() <= e.AtNS && e.AtNS <= to
	})
}

func (j *soundness) limit(d time.Duration) int64 { return int64(j.Head.Limit(d)) }

// unproven are the scenario's faults that did not happen as planned.
func (j *soundness) unproven() flaw {
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
			waits *= 2 // it takes time to find a moving target
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

// linksUnused says that a user's program sent nothing through the broken links, so that breaking them shows
// nothing.
func (j *soundness) linksUnused() flaw {
	f := flaw{code: result.LinksUnused, deadStands: true}
	program := j.Head.Program
	if program == nil {
		return f
	}
	beside := func(node string) bool { return !slices.Contains(program.Servers, node) } // such as a master
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

// nothing says that nothing was requested in the measured part, or that grants led to nothing.
func (j *soundness) nothing() flaw {
	f := flaw{code: result.NothingToJudge, deadStands: true}
	asked, granted := false, false
	for _, a := range j.Acquires {
		if a.Outcome != record.Unsent && a.At >= j.Measure && a.From < j.Drain {
			asked, granted = true, granted || a.Outcome == record.OK
		}
	}
	served := func(q record.Request) bool { return q.Outcome == record.OK && q.From >= j.Measure && q.From < j.Drain }
	wrote := func(e history.Event) bool { return e.Kind == history.KindWrite && e.State != history.WriteUnknown }
	switch {
	case !asked:
		f.Add("acquisitions")
	case granted && j.Workload.Players && !slices.ContainsFunc(j.Requests, served):
		f.Add("requests")
	case granted && j.Workload.Writes && !slices.ContainsFunc(j.Accesses, wrote):
		f.Add("writes")
	}
	return f
}

// late says that the load was not offered in time, or ended too early. The controller offers the requests of
// players; in other workloads clients in the masters acquire, which a dead lock keeps busy.
func (j *soundness) late() flaw {
	offered, measured := j.Workload.Players, j.Drain-j.Measure
	f := flaw{code: result.LateLoad, deadStands: true}
	switch {
	case j.Torn:
		f.Add("the history ends in a torn line")
	case !j.Ended:
		f.Add("the history has no end")
	case !j.Head.Played && measured < j.Head.DurationNS-int64(time.Millisecond):
		f.Add("ended after %.1f s of %.1f s", time.Duration(measured).Seconds(), time.Duration(j.Head.DurationNS).Seconds())
	}
	if f.N > 0 {
		return f
	}
	f.deadStands = !offered
	var due, sent float64
	var took []int64
	lateness := make([]int64, 0, len(j.Requests)+len(j.Acquires))
	last := j.Measure // time of an operation; in raw workloads, its answer or the end of its hold
	for o := range j.Due(offered) {
		last = max(last, o.From)
		if due += float64(o.Count); o.Outcome == record.Unsent {
			continue
		}
		sent += float64(o.Count)
		if o.Sent > 0 {
			lateness = append(lateness, o.Sent-o.From)
		}
		if offered && o.Outcome == record.OK {
			took = append(took, o.At-o.From)
		}
	}
	for _, a := range j.Acquires {
		if !offered && a.Granted() {
			last = max(last, a.Until)
		} else if !offered {
			last = max(last, a.At)
		}
	}
	// Parties arrive together, which doubles the standard deviation. Clients of closed loops ask again at once. If 60
	// requests are due in the rest of the time, none comes in one run of millions.
	planned, rest := j.Offered(j.Measure), j.Offered(last)
	if least := planned - 10*math.Sqrt(planned); offered && due < least {
		f.Add("%.0f of %.0f requests", due, planned)
	}
	if quiet := j.Drain - last; last > j.Measure && quiet > j.limit(250*time.Millisecond) &&
		(j.Head.OfferedPS == 0 || rest > 60) {
		f.Add("no client asked in the last %v", time.Duration(quiet).Round(time.Millisecond))
	}
	if sent < loadgen.MinSent*due {
		f.Add("%.0f of %.0f operations sent", sent, due)
	}
	if p99 := quantile(lateness, 0.99); p99 > int64(loadgen.MaxLateness) {
		f.Add("p99 late by %v", time.Duration(p99).Round(time.Millisecond))
	}
	if p50 := quantile(lateness, 0.5); len(took) > 0 && p50 > quantile(took, 0.5)/2 {
		f.Add("half of the requests late by %v", time.Duration(p50).Round(time.Millisecond))
	}
	return f
}

const (
	// maxSlowdown is how many times longer than on an idle machine the lab's work may take. Two CPUs that are 95 %
	// busy do that to work that comes at random (1/(1-0.95²) in the M/M/2 queue). From there each further per cent
	// counts twice: figures then measure the machine, not the lock.
	maxSlowdown = 10
	// maxOwn is the share of all CPUs that the lab's processes may use: with more, none is free when a message comes.
	maxOwn = 0.9
)

// machineLoad sums the samples of one machine; 0 is what its system does not tell.
type machineLoad struct {
	busy, stolen, throttled, run, wait, span float64
	cpus                                     int
	late, fsync                              int64
}

// machines sums what the machines did in the measured part, and notes those whose CPUs or disk were saturated.
func (j *soundness) machines(f *flaw) (list []result.Machine) {
	hosts := map[string]*machineLoad{}
	for i := range j.Machines {
		m := &j.Machines[i]
		if part := min(m.AtNS, j.Drain) - max(m.FromNS, j.Measure); part > 0 {
			if hosts[m.Host] == nil {
				hosts[m.Host] = &machineLoad{}
			}
			hosts[m.Host].add(m, float64(part))
		}
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		l := hosts[host]
		all := l.span * float64(max(l.cpus, 1))
		m := result.Machine{
			Host: host, CPUs: l.cpus, Busy: min(l.busy/all, 1), // the kernel counts in ticks
			LateMS: float64(l.late) / 1e6, FsyncMS: float64(l.fsync) / 1e6,
		}
		m.Others = max(m.Busy-l.run/all, 0)
		if l.run > 0 {
			// The lab's share of the time stolen by a hypervisor is its share of the time that CPUs were used.
			m.Slowdown = 1 + (l.wait+l.throttled)/l.run + l.stolen/max(l.busy-l.stolen, l.run)
		}
		list = append(list, m)
		// Mostly idle processes wait longer than they run whenever a few wake at once. So waiting counts only where
		// hardly a CPU was free, or a quota applied.
		full := m.Busy == 0 || m.Busy > maxOwn || l.throttled > 0.1*l.span
		if l.run/all > maxOwn || m.Slowdown > maxSlowdown && full || max(l.late, l.fsync) > j.limit(time.Second)/2 {
			f.Add("%s", cmp.Or(host, history.TargetController))
		}
	}
	return list
}

// add adds the part of a sample that lies in the measured part, which assumes an even use.
func (l *machineLoad) add(e *history.Event, part float64) {
	of := func(ns int64) float64 { return float64(ns) * part / float64(e.AtNS-e.FromNS) }
	m := e.Machine
	l.busy, l.stolen, l.throttled = l.busy+of(m.BusyNS), l.stolen+of(m.StolenNS), l.throttled+of(m.ThrottledNS)
	l.run, l.wait, l.span = l.run+of(m.RunNS), l.wait+of(m.WaitNS), l.span+part
	l.cpus, l.late, l.fsync = max(l.cpus, m.CPUs), max(l.late, m.LateNS), max(l.fsync, m.FsyncNS)
}

// checkRecords compares what players were told of rooms, what masters know of their orders, and what workers
// recorded. If a record is missing or contradicts another, the run decides nothing. Package record looks for gaps
// in the numbers of records.
func (j *soundness) checkRecords() {
	j.checkRooms()
	j.checkAccesses()
	if !j.Complete() {
		return
	}
	for _, a := range j.Acquires {
		if a.Granted() && a.Stopped == record.Never && j.Nodes[a.Node].Next(a.At).InOrder {
			j.missing.Add("the release of hold %s", a.Hold)
		}
	}
	if j.Whole() {
		j.checkCanaries()
		j.checkMachines()
	}
}

func (j *soundness) checkRooms() {
	rooms := make(map[string]*record.Room, len(j.Rooms))
	for i := range j.Rooms {
		r := &j.Rooms[i]
		rooms[r.ID] = r
		came := slices.DeleteFunc(slices.Clone(r.At[:]), func(at int64) bool { return at == record.Never })
		if !slices.IsSorted(came) {
			j.wrong.Add("the order of the states of room %s", r.ID)
		}
	}
	begun := func(room, worker string, at int64) {
		if r := rooms[room]; (r == nil || r.At[record.RoomStarting] == record.Never) && !j.gone(worker, at) {
			j.missing.Add("the beginning of room %s", room)
		}
	}
	for i := range j.Requests {
		if q := &j.Requests[i]; q.Outcome == record.OK && q.Room != "" {
			begun(q.Room, q.Worker, q.At)
		}
	}
	ordered := make(map[string]bool, len(j.Orders))
	for i := range j.Orders {
		o := &j.Orders[i]
		ordered[o.Order] = true
		if o.Outcome == string(locks.OutcomeOK) && o.Room != "" {
			begun(o.Room, o.Worker, o.AtNS)
		}
		j.checkOrder(o, rooms[o.Room])
	}
	for _, r := range rooms {
		// An order may arrive after its master was killed.
		began := r.Begun()
		switch late := j.Nodes[r.Master].Life(began+r.Err) > 0; {
		case !j.Complete():
		case r.At[record.RoomClosed] == record.Never && j.Nodes[r.Worker].Next(began).InOrder:
			j.missing.Add("the end of room %s", r.ID)
		case !ordered[r.Order] && !late && !j.gone(r.Master, began):
			j.missing.Add("the order of room %s", r.ID)
		}
	}
}

// gone says that a process, or the history, may have ended before it could record what it did then, or its answer.
func (j *soundness) gone(node string, at int64) bool {
	n, soon := j.Nodes[node], at+j.limit(2*time.Second) // an order is recorded within that time
	if !j.Ended && j.End <= soon {
		return true
	}
	end := n.Next(at - j.limit(time.Second)) // a host acts on for a while after its last sign
	return n != nil && !end.InOrder && (end.Asked <= soon || end.Asked < record.Never &&
		slices.ContainsFunc(n.Away, func(s record.Span) bool { return s.From >= at && s.From <= soon }))
}

// checkOrder compares an order with the hold that it was under, and with its room.
func (j *soundness) checkOrder(o *history.Event, r *record.Room) {
	switch h := j.Hold(o.Hold); {
	case h == nil || h.Node != o.Node:
		j.missing.Add("the acquisition of the hold of order %s", o.Order)
	case h.At > o.FromNS || h.Stopped < o.AtNS || h.Resource != o.Resource:
		j.wrong.Add("the order %s was made without its hold", o.Order)
	}
	if o.Outcome != string(locks.OutcomeOK) || r == nil || r.At[record.RoomStarting] == record.Never {
		return
	}
	if began, err := r.Begun(), o.ErrNS+r.Err; r.Resource != o.Resource || began > o.AtNS+err ||
		began < cmp.Or(o.SentNS, o.FromNS)-err {
		j.wrong.Add("room %s does not fit its order", o.Room)
	}
}

// checkAccesses compares each access to the store with its hold. A write may come after the end of its hold, but
// not before the beginning.
func (j *soundness) checkAccesses() {
	type version struct {
		resource string
		n        uint64
	}
	written := map[version]bool{}
	for i := range j.Accesses {
		a := &j.Accesses[i]
		switch h := j.Hold(a.Hold); {
		case h == nil || h.Node != a.Client:
			j.missing.Add("the acquisition of hold %s, which read or wrote", a.Hold)
		case a.AtNS+a.ErrNS < h.At-h.Err || h.Resource != a.Resource || a.Token > 0 && a.Token != h.Token:
			j.wrong.Add("hold %s read or wrote what it was not granted", a.Hold)
		}
		if a.Kind == history.KindWrite && a.State == history.WriteAccepted {
			v := version{a.Resource, a.Version}
			if written[v] || a.Base >= a.Version {
				j.wrong.Add("version %d of %s, twice", a.Version, a.Resource)
			}
			written[v] = true
		}
	}
}

// checkCanaries wants canaries of each master.
func (j *soundness) checkCanaries() {
	canary := map[string]bool{}
	for _, a := range j.Canaries {
		canary[a.Node] = true
	}
	for _, a := range j.Acquires {
		if !canary[a.Node] {
			canary[a.Node] = true
			j.missing.Add("the canaries of %s", a.Node)
		}
	}
}

// checkMachines wants samples of the controller's machine for all but a second of the measured part.
func (j *soundness) checkMachines() {
	sampled := int64(0)
	for i := range j.Machines {
		if m := &j.Machines[i]; m.Host == "" {
			sampled += max(min(m.AtNS, j.Drain)-max(m.FromNS, j.Measure), 0)
		}
	}
	if sampled < j.Drain-j.Measure-int64(time.Second) {
		j.missing.Add("samples of the machine of %s", history.TargetController)
	}
}
