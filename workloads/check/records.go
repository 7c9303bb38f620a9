package check

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// The records of one run must fit each other: what a player was told of a room, what a
// master knows of its order, what the worker recorded. Where they do not, or where one
// is missing that must be there, nobody can say what happened: a lock is neither
// convicted nor acquitted by it.

// flaw is a way in which records do not fit.
type flaw int

const (
	unknownRoom flaw = iota
	headless
	misfit
	twice
	missing
	flaws // how many there are
)

func (w flaw) text(n int64, example sentence.Text) sentence.Text {
	switch w {
	case unknownRoom:
		return sentence.Of("matches and orders of rooms that the oracle does not know: %d, such as %s", n, example)
	case headless:
		return sentence.Of("rooms without a beginning at the oracle: %d, such as %s", n, example)
	case misfit:
		return sentence.Of("contradictions in the records: %d, such as %s", n, example)
	case twice:
		return sentence.Of("records that are there twice: %d, such as %s", n, example)
	default:
		return sentence.Of("missing records: %d, such as %s", n, example)
	}
}

// contradictions counts what does not fit, with the first of each kind by the alphabet:
// the same for any order in the file.
type contradictions [flaws]struct {
	n       int64
	example sentence.Text
}

func (all *contradictions) add(w flaw, n int64, example sentence.Text) {
	d := &all[w]
	if d.n == 0 || example.String() < d.example.String() {
		d.example = example
	}
	d.n += n
}

func (all *contradictions) list() []sentence.Text {
	var list []sentence.Text
	for w := range flaws {
		if d := all[w]; d.n > 0 {
			list = append(list, w.text(d.n, d.example))
		}
	}
	return list
}

const (
	// lastWords is how long before its death a process may have done what it could not
	// record any more.
	lastWords = int64(time.Second)
	// orderTime is how long an order, or a release, takes at most until it is recorded.
	orderTime = 2 * time.Second
	// orderly is how long a process takes at most to end that records all it did.
	orderly = 5 * int64(time.Second) / 2
	// maxOpen is how long a room waits for players that do not come.
	maxOpen = 30 * int64(time.Second)
)

// addTimes wants each event to be asked, sent and answered in this order.
func (c *Checker) addTimes(e *history.Event) {
	from, sent := cmp.Or(e.FromNS, math.MinInt64), cmp.Or(e.SentNS, e.AtNS)
	if from > sent || sent > e.AtNS {
		c.flaws.add(misfit, 1, sentence.Of("the event %s of %s was answered before it was asked for", e.Kind, brief(cmp.Or(e.Client, e.Node, e.Host, history.TargetController))))
	}
}

// checkRecords compares the records of clients, masters, agents and the controller, and
// those of the workload.
func (c *Checker) checkRecords(f *Findings, t timeline) {
	c.part().fit()
	if c.complete() {
		c.checkRunIsWhole(f, t)
	}
	c.checkLedger(f, t)
	c.checkNumbers()
	f.Contradictions = append(f.Contradictions, c.flaws.list()...)
}

// complete says that the history is of a program that records all that is asked for
// here: older ones did not say what is expected.
func (c *Checker) complete() bool { return c.run.Expect != nil }

// dying says whether a process may have ended before it could record what it did then.
func (c *Checker) dying(node int32, at int64) bool {
	end := c.lives[node].next(at)
	return !end.inOrder() && end.from-lastWords <= at
}

// cutShort says whether a process may not have been able to record the outcome of what
// it did at a moment: it ended too soon after that, or the history did.
func (c *Checker) cutShort(node int32, at int64) bool {
	l := c.lives[node]
	end := l.next(at)
	if end.inOrder() {
		return false
	}
	until := end.from
	if _, ended := c.phases[loadgen.PhaseEnd]; !ended {
		until = min(until, c.end)
	}
	lived := int64(0)
	for _, s := range without(nil, span{at, until}, l.away) {
		lived += s.to - s.from
	}
	return lived <= int64(c.run.Limit(orderTime))
}

// checkRunIsWhole wants what every run has: its phases, all of its load, the lives of its
// nodes, what its machines did.
func (c *Checker) checkRunIsWhole(f *Findings, t timeline) {
	c.checkHoldsAreWhole()
	if _, ended := c.phases[loadgen.PhaseEnd]; !ended || len(c.givenUp) > 0 {
		return // so says the verdict already
	}
	for _, state := range []string{loadgen.PhaseWarmup, loadgen.PhaseMeasure, loadgen.PhaseDrain} {
		if _, known := c.phases[state]; !known {
			c.flaws.add(missing, 1, sentence.Of("the beginning of the phase %s", state))
		}
	}
	for host := range c.unsure {
		if _, known := c.clocks[host]; !known {
			c.flaws.add(missing, 1, sentence.Of("how far the clock of host %s was off in the end", brief(host)))
		}
	}
	own := c.part()
	for _, p := range c.parts {
		p.whole(p == own)
	}
	c.checkNodesAreWhole(f)
	c.checkMachinesAreWhole(t)
}

// checkHoldsAreWhole wants the end of each hold of a node that was stopped in order.
func (c *Checker) checkHoldsAreWhole() {
	for _, a := range c.acquires {
		if a.granted() && a.stopped() == math.MaxInt64 && c.lives[a.node].next(a.at).inOrder() {
			c.flaws.add(missing, 1, sentence.Of("the release of hold %s, whose node was stopped in order", brief(a.hold)))
		}
	}
}

// checkNodesAreWhole wants the beginning and the end of each node's life, where it ran,
// and that what a fault hit was hit.
func (c *Checker) checkNodesAreWhole(f *Findings) {
	for _, node := range c.recorders() {
		host, known := c.run.NodeHosts[c.names.text(node)]
		if _, zoned := c.run.HostZones[host]; !known || !zoned {
			c.flaws.add(missing, 1, sentence.Of("the header does not say on which host, or in which zone, %s ran", c.name(node)))
		}
		l := c.lives[node]
		switch {
		case l.starts == 0:
			c.flaws.add(missing, 1, sentence.Of("the beginning of node %s", c.name(node)))
		case !l.left && len(l.deaths) == 0 || len(l.deaths) > 0 && l.deaths[len(l.deaths)-1].seen < l.started:
			c.flaws.add(missing, 1, sentence.Of("the end of node %s", c.name(node)))
		}
	}
	for _, fault := range c.faults {
		// A user's programs write no records, and what is done to clocks and disks stops nobody.
		if fault.BeganNS < 0 || fault.AskedNS < 0 || !fault.stops() {
			continue
		}
		hit := span{fault.AskedNS - 2*f.Doubts.ErrorNS, max(fault.EndedNS, fault.BeganNS) + 2*f.Doubts.ErrorNS}
		for _, name := range fault.Nodes {
			if node := c.names.id(name); !slices.ContainsFunc(c.lives[node].away, hit.meets) {
				c.flaws.add(missing, 1, sentence.Of("what the fault %s did to node %s", brief(fault.ID), c.name(node)))
			}
		}
	}
}

// recorders are the nodes that left records, in order of their ids.
func (c *Checker) recorders() []int32 {
	is := make([]bool, len(c.names.list))
	for node := range c.lives {
		is[node] = true
	}
	for _, a := range c.acquires {
		is[a.node] = true
	}
	c.part().records(func(_ *int64, node int32) { is[node] = true })
	var list []int32
	for id, yes := range is {
		if yes && c.names.list[id] != "" {
			list = append(list, int32(id)) //nolint:gosec // far below
		}
	}
	return list
}

// checkMachinesAreWhole wants samples of the controller's machine from the beginning of
// the measured part to its end, and of all machines without gaps.
func (c *Checker) checkMachinesAreWhole(t timeline) {
	const slack = int64(time.Second) // a sample takes half of that, where nothing disturbs it
	slices.SortFunc(c.machines, func(a, b machineEvent) int {
		return cmp.Or(strings.Compare(a.host, b.host), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i, m := range c.machines {
		if m.host == "" {
			first, last = min(first, m.from), max(last, m.to)
		}
		if i > 0 && c.machines[i-1].host == m.host {
			switch gap := m.from - c.machines[i-1].to; {
			case gap > slack/10:
				c.flaws.add(missing, 1, sentence.Of("what the CPUs of %s did for %v", machineName(m.host), time.Duration(gap)))
			case gap < -slack/10:
				c.flaws.add(twice, 1, sentence.Of("what the CPUs of %s did for %v", machineName(m.host), time.Duration(-gap)))
			}
		}
	}
	if first > t.measure+slack || last < t.drain-slack {
		c.flaws.add(missing, 1, sentence.Of("what the CPUs of the controller's machine did in the measured part, or in some of it"))
	}
}

// checkLedger wants each fault that the run planned, when it was planned for.
func (c *Checker) checkLedger(f *Findings, t timeline) {
	const late = int64(1500 * time.Millisecond)
	for _, p := range c.run.Planned {
		fault := c.fault(p.ID)
		what := sentence.Of("%s (%s)", brief(p.ID), history.FaultText(brief(p.Fault), brief(p.Target)))
		switch {
		case fault == nil:
			f.Contradictions = append(f.Contradictions, sentence.Of("the scenario asks for the fault %s, which the ledger does not have", what))
			continue
		case fault.AskedNS < 0:
			c.flaws.add(missing, 1, sentence.Of("when the fault %s was asked for", what))
			continue
		}
		asked, waited := fault.AskedNS-t.measure-p.AtNS, late
		if strings.HasPrefix(p.Target, history.TargetHolder) || strings.HasPrefix(p.Target, "leader") {
			waited *= 2 // for who is to be hit
		}
		if asked < -late || asked > waited {
			c.flaws.add(misfit, 1, sentence.Of("the fault %s was to begin at %v, and was asked for at %v", what, time.Duration(p.AtNS), moment(fault.AskedNS-t.measure)))
		}
		until := min(fault.AskedNS+p.ForNS, t.drain)
		_, ended := c.phases[loadgen.PhaseEnd]
		switch {
		case !ended:
		case fault.HealAskedNS < 0 && fault.EndedNS >= 0:
			c.flaws.add(missing, 1, sentence.Of("when the end of the fault %s was asked for", what))
		case fault.HealAskedNS >= 0 && (fault.HealAskedNS < until-late || fault.HealAskedNS > until+2*late):
			c.flaws.add(misfit, 1, sentence.Of("the fault %s was to last for %v, and its end was asked for after %v", what, time.Duration(p.ForNS), moment(fault.HealAskedNS-fault.AskedNS)))
		}
	}
}

// checkNumbers looks for gaps in the numbers that events bear: those of each process
// begin anew with each of its lives, so none stands more often than the one before it.
func (c *Checker) checkNumbers() {
	for i, numbers := range c.numbers {
		of := int32(i) //nolint:gosec // far below
		slices.Sort(numbers)
		want, most := uint64(1), 1 // lives
		if of != 0 {
			most = cmp.Or(c.lives[of].starts, len(numbers))
		}
		for len(numbers) > 0 {
			n := 1
			for n < len(numbers) && numbers[n] == numbers[0] {
				n++
			}
			switch {
			case numbers[0] != want:
				c.flaws.add(missing, 1, c.numberText(of, want))
				most = max(most, n)
			case n > most:
				c.flaws.add(twice, 1, c.numberText(of, want))
			}
			want, most, numbers = numbers[0]+1, min(most, n), numbers[n:]
		}
	}
}

func (c *Checker) numberText(node int32, n uint64) sentence.Text {
	who := sentence.Of("the controller")
	if node != 0 {
		who = sentence.Name(c.name(node))
	}
	return sentence.Of("number %d of what %s recorded", n, who)
}

// noName stands for a name that a record lacks.
const noName = "?"

// brief is a name that may be long, as it is told.
func brief(name string) string {
	const most = 100
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

// name is what is told of a name.
func (c *Checker) name(id int32) string { return brief(c.names.text(id)) }
