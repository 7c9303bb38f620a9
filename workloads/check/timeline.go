package check

import (
	"cmp"
	"math"
	"slices"

	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// timeline is when the parts of the run were, on the clock of the run.
type timeline struct {
	measure int64 // the measured part begins
	drain   int64 // nothing is due any more
	end     int64 // of the history
}

func (c *Checker) timeline() timeline {
	t := timeline{end: c.end, drain: c.end}
	if at, known := c.phases[loadgen.PhaseMeasure]; known {
		t.measure = at
	} else if at, known := c.phases[loadgen.PhaseWarmup]; known && c.run.WarmupNS > 0 {
		t.measure = min(at+c.run.WarmupNS, c.end) // interrupted in the warm-up
	} else {
		t.measure = c.firstOp()
	}
	if at, known := c.phases[loadgen.PhaseDrain]; known {
		t.drain = at
	}
	t.drain = max(t.drain, t.measure)
	return t
}

// firstOp is where a history without phases begins to be measured.
func (c *Checker) firstOp() int64 {
	first := c.end
	for i := range c.ops {
		first = min(first, c.ops[i].from)
	}
	return first
}

// nodeEvent is a change in the life of a process.
type nodeEvent struct {
	asked, at int64 // asked: when a signal was sent for it, 0 if none was
	state     string
	why       string // of its end
	log       []string
}

// span is the time [from, to).
type span struct{ from, to int64 }

func (s span) meets(o span) bool { return s.from < o.to && o.from < s.to }

// absent lists when a node was not running: dead, and also paused if that counts.
func (c *Checker) absent(node int32, paused bool) []span {
	events := c.nodes[node]
	slices.SortStableFunc(events, func(a, b nodeEvent) int { return cmp.Compare(a.at, b.at) })
	var spans []span
	since, reason := int64(-1), ""
	for _, e := range events {
		switch e.state {
		case "killed", "exited", "stopped", "lost":
			if reason == "paused" && since >= 0 { // a paused process can be killed
				spans = append(spans, span{since, e.at})
				since = -1
			}
			if since < 0 {
				since, reason = e.at, "dead"
			}
		case "paused", history.NodeSuspended:
			if paused && since < 0 {
				since, reason = e.at, "paused"
			}
		case "started", "ready":
			if since >= 0 {
				spans = append(spans, span{since, e.at})
				since = -1
			}
		case "resumed", history.NodeContinued:
			if since >= 0 && reason == "paused" {
				spans = append(spans, span{since, e.at})
				since = -1
			}
		}
	}
	if since >= 0 {
		spans = append(spans, span{since, math.MaxInt64})
	}
	return spans
}

// death is the end of a process: it was seen at one moment and may have happened at any
// time since the signal for it was sent.
type death struct{ from, seen int64 }

// deaths gives, for each node, when it died, in order.
func (c *Checker) deaths() map[int32][]death {
	deaths := map[int32][]death{}
	for node := range c.nodes {
		for _, s := range c.absent(node, false) {
			d := death{s.from, s.from}
			i, _ := slices.BinarySearchFunc(c.nodes[node], s.from, func(e nodeEvent, at int64) int { return cmp.Compare(e.at, at) })
			if e := c.nodes[node][i]; e.asked > 0 {
				d.from = min(e.asked, e.at)
			}
			deaths[node] = append(deaths[node], d)
		}
	}
	return deaths
}

// aliveUntil is until when a process that lived at a moment surely did.
func aliveUntil(deaths []death, from int64) int64 {
	i, _ := slices.BinarySearchFunc(deaths, from, func(d death, at int64) int { return cmp.Compare(d.seen, at) })
	if i == len(deaths) {
		return math.MaxInt64
	}
	return max(from, deaths[i].from)
}

// hit is what a fault touches.
type hit struct {
	from, to, nodes []string
	delay           int64 // that it adds to messages one way, if that is all it does
}

// addFault collects the entries of one fault of the ledger.
func (c *Checker) addFault(e *history.Event) {
	f := c.faults[e.ID]
	if f == nil {
		f = &Fault{Repeat: 1, ID: e.ID, AskedNS: -1, BeganNS: -1, HealAskedNS: -1, EndedNS: -1, Proven: true}
		c.faults[e.ID] = f
		c.order = append(c.order, e.ID)
	}
	h := c.hits[e.ID]
	f.Kind, f.Target = cmp.Or(f.Kind, e.Fault), cmp.Or(f.Target, e.Target)
	for _, list := range []struct {
		into *[]string
		from []string
	}{{&h.from, e.From}, {&h.to, e.To}, {&h.nodes, e.Nodes}} {
		for _, name := range list.from {
			if !slices.Contains(*list.into, name) {
				*list.into = append(*list.into, name)
			}
		}
	}
	h.delay = max(h.delay, e.DelayNS)
	c.hits[e.ID] = h
	first := func(at *int64) {
		if *at < 0 || e.AtNS < *at {
			*at = e.AtNS
		}
	}
	switch e.State {
	case "asked":
		first(&f.AskedNS)
	case "began":
		first(&f.BeganNS)
	case "heal-asked":
		first(&f.HealAskedNS)
	case "ended":
		first(&f.EndedNS)
	case "unproven":
		f.Proven = false
		f.Why = cmp.Or(f.Why, e.Error)
	}
}

// listFaults gives the faults relative to the measured part. A fault is proven if
// it was seen to begin, and to end if it was to end, and if it hit what it was for.
func (c *Checker) listFaults(t timeline) []Fault {
	list := make([]Fault, 0, len(c.order))
	for _, id := range c.order {
		f := *c.faults[id]
		f.Proven = f.Proven && f.BeganNS >= 0 && (f.HealAskedNS < 0 || f.EndedNS >= 0)
		if f.Proven && f.AskedNS >= 0 {
			f.Why = cmp.Or(c.notInTime(&f, t), c.noHoldHit(&f, c.hits[id].nodes))
			f.Proven = f.Why == ""
		}
		for _, at := range []*int64{&f.AskedNS, &f.BeganNS, &f.HealAskedNS, &f.EndedNS} {
			if *at >= 0 {
				*at -= t.measure
			} else {
				*at = Never
			}
		}
		list = append(list, f)
	}
	return list
}

// inForce is when a fault may have had effects: from when it was asked for until
// its end was proven, and a margin.
func (c *Checker) inForce(f *Fault) span {
	s := span{from: f.AskedNS, to: math.MaxInt64}
	if s.from < 0 {
		s.from = f.BeganNS
	}
	if f.EndedNS >= 0 {
		s.to = f.EndedNS + int64(c.opts.FaultMargin)
	}
	return s
}

// cut says whether a fault that keeps two nodes' hosts apart for longer than the
// master waited for an answer, or stops the worker, was in force at some time of the
// span. One that was not proven may have been: the run decides nothing then.
func (c *Checker) cut(master, worker string, during span, waited int64) bool {
	during.to = max(during.to, during.from+1)
	masterHost, workerHost := c.run.NodeHosts[master], c.run.NodeHosts[worker]
	for id, f := range c.faults {
		if !c.inForce(f).meets(during) {
			continue
		}
		h := c.hits[id]
		if slices.Contains(h.nodes, worker) {
			return true
		}
		if masterHost == "" || workerHost == "" {
			continue
		}
		there, back := c.between(h, masterHost, workerHost), c.between(h, workerHost, masterHost)
		if !onlySlows(f.Kind) {
			if there || back {
				return true
			}
			continue
		}
		added := int64(0)
		for _, way := range []bool{there, back} {
			if way {
				added += h.delay
			}
		}
		if added > 0 && added >= waited {
			return true
		}
	}
	return false
}

// between says whether the fault hits what one host sends to another. One that names
// the same hosts on both sides is between zones.
func (c *Checker) between(h hit, from, to string) bool {
	if !slices.Contains(h.from, from) || !slices.Contains(h.to, to) {
		return false
	}
	both := slices.Contains(h.to, from) && slices.Contains(h.from, to)
	zone, other := c.run.HostZones[from], c.run.HostZones[to]
	return from != to && (!both || zone == "" || zone != other)
}

// onlySlows says whether a kind of link fault only slows messages down: no excuse for
// not waiting, but for having waited in vain for less than what it adds.
func onlySlows(kind string) bool {
	switch kind {
	case "latency", "zone-latency", "jitter", "bandwidth":
		return true
	}
	return false
}
