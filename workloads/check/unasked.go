package check

import (
	"cmp"
	"math"
	"slices"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// unasked lists what nobody asked for, in the order of the ledger: nodes that ended by
// themselves or by somebody else's hand, nodes that were stopped for a while, and
// times in which an agent or the controller stood still. What happened after the end
// of the run touches nothing.
func (c *Checker) unasked(t timeline) []Fault {
	end := t.end
	if at, known := c.phases[loadgen.PhaseEnd]; known {
		end = at
	}
	var list []Fault
	add := func(kind, target string, during span, why string, log []string) {
		if during.from >= end {
			return
		}
		f := Fault{
			Repeat: 1, ID: kind + "/" + target, Kind: kind, Target: target, AskedNS: Never,
			BeganNS: during.from - t.measure, HealAskedNS: Never, EndedNS: Never, Proven: true, Why: sentence.Name(why), Log: log,
		}
		if during.to != math.MaxInt64 {
			f.EndedNS = during.to - t.measure
		}
		list = append(list, f)
	}
	for node, l := range c.lives {
		name, events := "node "+c.name(node), l.events
		for i, e := range events {
			switch e.state {
			case history.NodeExited:
				if !c.broken(node, e) {
					add(history.FaultNodeLoss, name, span{e.at, next(events[i:], history.NodeStarted, history.NodeReady)}, e.why, e.log)
				}
			case history.NodeSuspended:
				add(history.FaultStandstill, name, span{e.at, next(events[i:], history.NodeContinued, history.NodeExited, history.NodeKilled)}, "", nil)
			}
		}
	}
	for _, m := range c.machines {
		if m.stoodStill(c.stall) {
			who := history.TargetController
			if m.host != "" {
				who = history.TargetAgent + m.host
			}
			add(history.FaultStandstill, who, span{m.to - m.LateNS, m.to}, "", nil)
		}
	}
	slices.SortFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.BeganNS, b.BeganNS), cmp.Compare(a.Target, b.Target))
	})
	return list
}

// stoodStill says whether the program that measured was stopped, by somebody or with its
// whole machine: it was woken so late that a lock would count as stalled, although hardly
// anything waited for a CPU.
func (m machineEvent) stoodStill(stall time.Duration) bool {
	return time.Duration(m.LateNS) >= stall && (m.WaitNS == nil || *m.WaitNS < m.LateNS/2)
}

// next is when a node next came into one of the states; MaxInt64 if it never did.
func next(events []nodeEvent, states ...string) int64 {
	for _, e := range events[1:] {
		if slices.Contains(states, e.state) {
			return e.at
		}
	}
	return math.MaxInt64
}

// broken says whether what the scenario asked for was breaking the node when it ended: a
// program of the user, or a full disk, of which many servers end. Those end by themselves:
// whoever was told to end was told so by somebody else.
func (c *Checker) broken(node int32, end nodeEvent) bool {
	told := slices.Contains([]string{"signal-killed", "signal-terminated", "signal-interrupt"}, end.why)
	return slices.ContainsFunc(c.faults, func(f *fault) bool {
		ends := f.Kind == "external" || f.Kind == "full-disk" && !told
		return ends && slices.Contains(f.Nodes, c.names.text(node)) && c.inForce(f).meets(span{end.at, end.at + 1})
	})
}

// Losses lists what went away or stood still although no scenario asks for that:
// hosts, nodes, and the programs of the lab; and what somebody broke by hand.
func (f *Findings) Losses() []Fault {
	var list []Fault
	for _, fault := range f.Faults {
		if fault.isLoss() {
			list = append(list, fault)
		}
	}
	return list
}

func (l *Fault) isLoss() bool {
	return l.Kind == history.FaultHostLoss || l.Kind == history.FaultNodeLoss || l.Kind == history.FaultStandstill || l.Kind == history.FaultByHand
}

// isDisturbed says whether something was lost, or a fault asked for that was not proven,
// before any violation was seen: what follows then says nothing about what the scenario
// expects, because something else may have happened.
func (f *Findings) isDisturbed() bool {
	first, disturbed := int64(0), false
	for i := range f.Faults {
		fault := &f.Faults[i]
		since := fault.AskedNS
		switch {
		case fault.isLoss():
			since = fault.BeganNS
		case fault.Proven:
			continue
		}
		if !disturbed || since < first {
			first, disturbed = since, true
		}
	}
	return disturbed && f.FirstViolationNS >= first
}

// lost says what was lost, if anything.
func (f *Findings) lost() []sentence.Text {
	losses := f.Losses()
	if len(losses) == 0 {
		return nil
	}
	text := losses[0].lost()
	if f.MeasuredNS > 0 {
		text = sentence.Of("%s at %s", text, moment(losses[0].BeganNS))
	}
	if more := len(losses) - 1; more > 0 {
		text = sentence.Of("%s (and %d more)", text, more)
	}
	return []sentence.Text{sentence.Of("%s, which no fault of the scenario explains", text)}
}

// lost is what happened, without when.
func (l *Fault) lost() sentence.Text {
	who := history.TargetText(l.Target)
	switch {
	case l.Kind == history.FaultByHand:
		return sentence.Of("%s was broken by hand", who)
	case l.Kind == history.FaultNodeLoss && !l.Why.IsZero():
		return sentence.Of("%s ended (%s)", who, l.Why)
	case l.Kind == history.FaultNodeLoss:
		return sentence.Of("%s ended", who)
	case l.Kind == history.FaultStandstill && l.EndedNS != Never:
		return sentence.Of("%s stood still for %v", who, time.Duration(l.EndedNS-l.BeganNS))
	case l.Kind == history.FaultStandstill:
		return sentence.Of("%s stood still", who)
	}
	return sentence.Of("%s was lost", who)
}

// moment is a time of the measured part.
func moment(ns int64) time.Duration { return time.Duration(ns).Round(10 * time.Millisecond) }
