package check

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// fault is one fault of the ledger, in the times of the run, -1 for what was not seen.
type fault struct {
	Fault
	// delay is what it adds to messages one way, if that is all it does: no excuse for not
	// waiting, but for having waited in vain for less than that.
	delay int64
	// goesOn says that what it killed stays away to the end of the run.
	goesOn bool
}

// fault is the one of that ID; nil if the ledger does not have it.
func (c *Checker) fault(id string) *fault {
	i := slices.IndexFunc(c.faults, func(f *fault) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return c.faults[i]
}

// addFault collects the entries of one fault of the ledger.
func (c *Checker) addFault(e *history.Event) {
	f := c.fault(e.ID)
	if f == nil {
		f = &fault{Fault: Fault{Repeat: 1, ID: e.ID, AskedNS: -1, BeganNS: -1, HealAskedNS: -1, EndedNS: -1, Proven: true}}
		c.faults = append(c.faults, f)
	}
	f.Kind, f.Target = cmp.Or(f.Kind, e.Fault), cmp.Or(f.Target, e.Target)
	if e.State == "kept-away" {
		f.KeptNS = e.DelayNS
		return
	}
	f.delay = max(f.delay, e.DelayNS)
	union := func(into *[]string, more []string) {
		for _, name := range more {
			if !slices.Contains(*into, name) {
				*into = append(*into, name)
			}
		}
	}
	union(&f.From, e.From)
	union(&f.To, e.To)
	union(&f.Nodes, e.Nodes)
	switch at := f.moment(e.State); {
	case e.State == "unproven":
		f.Proven, f.Why = false, sentence.First(f.Why, sentence.Name(e.Error))
	case e.State == "away":
		f.goesOn = true
	case at != nil && (*at < 0 || e.AtNS < *at):
		*at = e.AtNS
	}
}

// firstFault is when the first fault was asked for, or seen if nobody asked; -1 if there is none.
func (c *Checker) firstFault() int64 {
	first := int64(-1)
	for _, f := range c.faults {
		at := f.AskedNS
		if at < 0 {
			at = f.BeganNS
		}
		if at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// faultStates are the moments of a fault, in order.
func faultStates() []string { return []string{"asked", "began", "heal-asked", "ended"} }

// moment is when the fault came into a state; nil for what is no moment of a fault.
func (f *Fault) moment(state string) *int64 {
	n := slices.Index(faultStates(), state)
	if n < 0 {
		return nil
	}
	return []*int64{&f.AskedNS, &f.BeganNS, &f.HealAskedNS, &f.EndedNS}[n]
}

// listFaults gives the faults relative to the measured part. A fault is proven if
// it was seen to begin, and to end if it was to end, and if it hit what it was for.
func (c *Checker) listFaults(t timeline) []Fault {
	list := make([]Fault, 0, len(c.faults))
	for _, entry := range c.faults {
		f := entry.Fault
		f.Proven = f.Proven && f.BeganNS >= 0 && (f.HealAskedNS < 0 || f.EndedNS >= 0 || entry.goesOn)
		if f.Proven && f.AskedNS >= 0 {
			f.Why = sentence.First(entry.notInTime(t), c.noHoldHit(entry))
			f.Proven = f.Why.IsZero()
		}
		for _, state := range faultStates() {
			if at := f.moment(state); *at >= 0 {
				*at -= t.measure
			} else {
				*at = Never
			}
		}
		list = append(list, f)
	}
	return list
}

// notInTime says that a fault was not in force in the measured part, where it was not.
func (f *fault) notInTime(t timeline) sentence.Text {
	s := span{f.BeganNS, math.MaxInt64}
	if f.HealAskedNS >= 0 {
		s.to = max(f.HealAskedNS, f.BeganNS+1)
	}
	if t.measure < t.drain && !s.meets(span{t.measure, t.drain}) {
		return sentence.Of("it was not in force in the measured part")
	}
	return sentence.Text{}
}

// aimedAtHolder says whether the fault was to hit whoever held a lock.
// The resource is that of the lock, "" for any.
func (f *fault) aimedAtHolder() (resource string, aimed bool) {
	target, _, _ := strings.Cut(f.Target, " ")
	kind, resource, of := strings.Cut(target, ":")
	return resource, kind == history.TargetHolder && !of || kind == history.TargetHolderOf && of
}

// noHoldHit says that a fault that was aimed at a holder hit nobody who held, where it
// was. Who is stopped must have held something from before that until it went on; who is
// killed must not have begun to release it; who is cut off must have held when it was.
func (c *Checker) noHoldHit(f *fault) sentence.Text {
	if point, at := f.point(); at {
		return c.notAtPoint(f, point)
	}
	resource, aimed := f.aimedAtHolder()
	if !aimed || !f.stops() && len(f.From) == 0 {
		return sentence.Text{}
	}
	nodes := f.Nodes
	if len(nodes) == 0 {
		for name, host := range c.run.NodeHosts {
			if slices.Contains(f.From, host) {
				nodes = append(nodes, name)
			}
		}
		slices.Sort(nodes)
	}
	for _, name := range nodes {
		node := c.names.id(name)
		hit := span{f.BeganNS, f.BeganNS}
		if len(f.Nodes) > 0 {
			hit = c.lives[node].hitTime(f.AskedNS, c.end)
		}
		for _, a := range c.acquires {
			if a.node == node && (resource == "" || c.name(a.resource) == resource) && a.granted() && a.at <= hit.from && min(a.stopped(), a.lost) >= hit.to {
				return sentence.Text{}
			}
		}
	}
	switch names, stopped := strings.Join(nodes, ", "), len(f.Nodes) > 0; {
	case stopped && resource == "":
		return sentence.Of("no hold was hit: when %s was stopped, it held nothing for long enough", names)
	case stopped:
		return sentence.Of("no hold was hit: when %s was stopped, it did not hold %s, or not for long enough", names, resource)
	case resource == "":
		return sentence.Of("no hold was hit: when %s was cut off, it held nothing for long enough", names)
	default:
		return sentence.Of("no hold was hit: when %s was cut off, it did not hold %s, or not for long enough", names, resource)
	}
}

// point is where in their work the fault was to stop processes.
func (f *fault) point() (point string, at bool) {
	_, rest, at := strings.Cut(f.Target, history.TargetAt)
	point, _, _ = strings.Cut(rest, " ")
	return point, at
}

// notAtPoint says which node did not come to the point before it stood still, if any.
func (c *Checker) notAtPoint(f *fault, point string) sentence.Text {
	for _, name := range f.Nodes {
		node := c.names.id(name)
		hit := c.lives[node].hitTime(f.AskedNS, c.end)
		if !slices.ContainsFunc(c.points, func(p pointEvent) bool {
			return p.node == node && p.point == point && p.at >= f.AskedNS && p.at <= hit.from
		}) {
			return sentence.Of("%s was not stopped at the point %s of its work", name, point)
		}
	}
	return sentence.Text{}
}

// stops says whether the kind of fault has processes stand still, or end, so that what they
// hold is hit.
func (f *fault) stops() bool {
	return slices.Contains([]string{"kill", "pause", "restart", "zone-failure"}, f.Kind)
}

// lasts is from when a fault was asked for until its end was proven.
func (f *fault) lasts() span {
	s := span{f.AskedNS, f.EndedNS}
	if s.from < 0 {
		s.from = f.BeganNS
	}
	if s.to < 0 {
		s.to = math.MaxInt64
	}
	return s
}

// inForce is when a fault may have had effects: from when it was asked for until
// its end was proven and the processes that it ended were there again, and a margin. What
// begins anew has as long as a failover takes: it must read its log, and elect.
func (c *Checker) inForce(f *fault) span {
	s := f.lasts()
	if f.EndedNS < 0 {
		return s
	}
	s.to += int64(c.run.Limit(faultMargin))
	failover := int64(c.run.Limit(FailoverTime))
	for _, name := range f.Nodes {
		for _, away := range c.lives[c.names.id(name)].away {
			if away.from >= s.from && away.from <= f.EndedNS {
				back := min(max(away.to, f.EndedNS), math.MaxInt64-failover)
				s.to = max(s.to, back+failover)
			}
		}
	}
	return s
}

// cut says whether a fault that keeps two nodes' hosts apart for longer than the
// master waited for an answer, or stops the worker, was in force at some time of the
// span. One that was not proven may have been: the run decides nothing then.
func (c *Checker) cut(master, worker int32, during span, waited int64) bool {
	during.to = max(during.to, during.from+1)
	here, there := c.run.NodeHosts[c.names.text(master)], c.run.NodeHosts[c.names.text(worker)]
	for _, f := range c.faults {
		if !c.inForce(f).meets(during) {
			continue
		}
		if f.stops() && slices.Contains(f.Nodes, c.names.text(worker)) {
			return true
		}
		ways := int64(0)
		for _, way := range [][2]string{{here, there}, {there, here}} {
			if here != "" && there != "" && c.between(f, way[0], way[1]) {
				ways++
			}
		}
		if ways > 0 && (f.delay == 0 || ways*f.delay >= waited) {
			return true
		}
	}
	return false
}

// between says whether the fault hits what one host sends to another. One that names
// the same hosts on both sides is between zones.
func (c *Checker) between(f *fault, from, to string) bool {
	if !slices.Contains(f.From, from) || !slices.Contains(f.To, to) {
		return false
	}
	both := slices.Contains(f.To, from) && slices.Contains(f.From, to)
	zone, other := c.run.HostZones[from], c.run.HostZones[to]
	return from != to && (!both || zone == "" || zone != other)
}
