package check

import (
	"math"
	"slices"
	"sync"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/loadgen"
)

// chance is how many standard deviations of as many independent arrivals a schedule may
// lack: players arrive in parties of a few, which makes the true deviation up to twice
// as large.
const chance = 10

// measureOps counts how the operations of the measured part ended, when, and
// whether the generator kept its schedule.
func (c *Checker) measureOps(f *Findings, t timeline) {
	f.MeasuredNS = t.drain - t.measure
	slots := (f.MeasuredNS + int64(SlotLength) - 1) / int64(SlotLength)
	const maxSlots = 1 << 20 // a day: no file can ask for more memory than that
	f.Slots = make([]Slot, min(max(slots, 0), maxSlots))
	inForce, lines := c.underFault(), sync.OnceValue(c.lines)
	if windows := c.windows(t); len(c.faults) > 0 && len(windows) > 0 {
		f.FaultsNS = windows[len(windows)-1].to - windows[0].from
	}
	canceled := c.names.id(canceledKind)
	var first, slowest op // that failed, and of those that were served
	var waited []int64    // so far, of those that were called off
	c.part().eachOp(func(o *op) {
		if c.opts.Ops {
			f.Ops = append(f.Ops, c.opOf(o.from, o.at, o.outcome, t))
		}
		if !c.counts(o.from, o.at, t) {
			return
		}
		if o.outcome == calledOff {
			f.CalledOff += o.count
			f.Counts["called_off"] += o.count
			waited = append(waited, o.at-o.from)
			return
		}
		if o.outcome == unknown && o.errorKind == canceled {
			return // by who interrupted the run: the lock had no time to serve it
		}
		f.Scheduled += o.count
		if o.outcome == unsent {
			f.Unsent += o.count
			return
		}
		if o.sent > 0 {
			f.Lateness.add(o.sent - o.from)
		}
		slot := &Slot{}
		if n := max(o.from-t.measure, 0) / int64(SlotLength); n < int64(len(f.Slots)) {
			slot = &f.Slots[n]
		}
		under := span{o.from, max(o.at, o.from+1)}
		served := []*Served{&f.Outside}
		if c.reach.touches(o.resource, under) {
			served[0] = &f.During
		}
		if slices.ContainsFunc(inForce, under.meets) {
			served = append(served, &f.InForce)
		}
		for _, s := range served {
			switch {
			case o.outcome == ok:
				s.OK++
				s.All++
			case !c.inLine(o, lines()):
				s.All++
			}
		}
		switch o.outcome {
		case ok:
			f.OK++
			slot.OK++
			f.Latency.add(o.at - o.from)
			if slowest.at == 0 || o.at-o.from > slowest.at-slowest.from {
				slowest = *o
			}
		case failed:
			f.Failed++
			slot.Failed++
		case unknown, unsent, calledOff:
			f.Unknown++
			slot.Unknown++
		}
		if o.outcome != ok && (first.from == 0 || o.from < first.from) {
			first = *o
		}
		if o.outcome != ok {
			kind := c.names.text(o.errorKind)
			if kind == "" {
				kind = "other"
			}
			f.Errors[kind]++
		}
	})
	f.Ops = f.Latency.addWaits(waited, f.Ops)
	c.exampleOfSlowness(f, t, &slowest)
	c.exampleOfFailure(f, t, &first)
	offered := c.workload().offered
	if late, took := f.Lateness.Quantile(0.5), f.Latency.Quantile(0.5); offered && took > 0 && late > took/2 {
		f.Behind = append(f.Behind, sentence.Of("the generator was late: p50 %v after the intended time, more than half of the latency that was measured, p50 %v",
			time.Duration(late), time.Duration(took)))
	}
	// With other workloads it is the masters that offer, and a dead one does not.
	due := c.due(f, t)
	if least := due - chance*math.Sqrt(due); offered && float64(f.Scheduled) < least {
		f.Behind = append(f.Behind, sentence.Of("%.0f operations were to be offered, but the history has %d", due, f.Scheduled))
	}
	if f.Scheduled > 0 {
		sent := uint64(f.Scheduled - f.Unsent) //nolint:gosec // not negative
		late := time.Duration(f.Lateness.Quantile(0.99))
		if why := loadgen.Behind(uint64(f.Scheduled), sent, late); late > loadgen.MaxLateness && !offered { // by clients of the masters
			f.Behind = append(f.Behind, sentence.Of("all clients were busy: operations waited for one until p99 %v after the intended time, want at most %v; more --clients have them asked for in time", late, loadgen.MaxLateness))
		} else if !why.IsZero() {
			f.Behind = append(f.Behind, why)
		}
	}
}

// lines is when each resource was held by a living client, and which masters were ever granted one.
type lines struct {
	held    map[int32][]span
	granted map[int32]bool
}

func (c *Checker) lines() lines {
	l := lines{map[int32][]span{}, map[int32]bool{}}
	for _, own := range c.resources {
		l.held[own[0].resource] = c.held(own)
		for _, a := range own {
			l.granted[a.node] = l.granted[a.node] || a.granted()
		}
	}
	return l
}

// inLine says of an operation that failed that it waited behind living holders: for a second at least, and
// half of that time or more the resource was held. A master that is never granted anything is in no line.
func (c *Checker) inLine(o *op, l lines) bool {
	if kind := c.names.text(o.errorKind); o.outcome != failed || kind != "timeout" && kind != "not-acquired" || !l.granted[o.node] {
		return false
	}
	waited := span{max(o.from, o.sent), o.at}
	free := int64(0)
	for _, s := range notHeld([]span{waited}, l.held[o.resource]) {
		free += s.to - s.from
	}
	lasted := waited.to - waited.from
	return lasted >= int64(c.run.Limit(longStall)) && free <= lasted/2
}

// due is how many operations the measured part was to offer. Findings.Rates are what
// somebody changed of it.
func (c *Checker) due(f *Findings, t timeline) (n float64) {
	from, perS := t.measure, c.run.OfferedPS
	for _, r := range c.rates {
		at := min(max(r.AtNS, from), t.drain)
		n += perS * time.Duration(at-from).Seconds()
		from, perS = at, r.PerS
		f.Rates = append(f.Rates, Rate{AtNS: r.AtNS - t.measure, PerS: r.PerS})
	}
	return n + perS*time.Duration(t.drain-from).Seconds()
}

// underFault is when faults were in force, without what they may still have effects on.
func (c *Checker) underFault() []span {
	var spans []span
	for _, f := range c.faults {
		spans = append(spans, f.lasts())
	}
	return spans
}

// counts says that what was due at from and ended at at is of the measured part: it was due in it.
// In a closed loop, where who waits asks for nothing else, it also is if it was under way when that
// part began: else those that all wait from before it would be in no figure.
func (c *Checker) counts(from, at int64, t timeline) bool {
	if closed := !c.workload().offered && c.run.OfferedPS == 0; closed && at >= t.measure && t.measure < t.drain {
		return from < t.drain
	}
	return from >= t.measure && from < t.drain
}

func (c *Checker) opOf(from, at int64, o outcome, t timeline) Op {
	return Op{DueNS: from - t.measure, EndNS: at - t.measure, OK: o == ok, CalledOff: o == calledOff, Early: from < t.measure && c.counts(from, at, t)}
}

// addWaits adds how long those had waited that were called off: they would have taken that, or
// longer. Where nobody was served there are no times at all.
func (d *Dist) addWaits(waited []int64, ops []Op) []Op {
	if d.Count() == 0 {
		return slices.DeleteFunc(ops, func(o Op) bool { return o.CalledOff })
	}
	for _, ns := range waited {
		d.add(ns)
	}
	return ops
}

// reach is when faults may have had effects: everywhere, and, longer, on who wants a resource that
// one may have left to nobody.
type reach struct {
	everywhere []span
	orphaned   map[int32][]span
}

// reached is the reach of all faults.
func (c *Checker) reached() reach {
	r := reach{orphaned: c.orphaned()}
	for _, f := range c.faults {
		r.everywhere = append(r.everywhere, c.inForce(f))
	}
	return r
}

func (r *reach) touches(resource int32, s span) bool {
	return slices.ContainsFunc(r.everywhere, s.meets) || slices.ContainsFunc(r.orphaned[resource], s.meets)
}

// untouched counts, under a field, what went wrong with a resource although no fault touched it, from when
// the first of those was asked for who came into it until it was seen. Without faults it goes without saying.
func (c *Checker) untouched(f *Findings, field string, resource int32, from, at int64) {
	if len(c.faults) == 0 {
		return
	}
	n := f.Counts[field]
	if !c.reach.touches(resource, span{from, at + 1}) {
		n++
	}
	f.Counts[field] = n
}

// orphaned is, of each resource, when it may be held for nobody because of a fault: one ended the
// process that held it, or in one an acquisition or a release ended of which nobody knows whether
// the servers have it. It lasts until the next grant, and for a lease after the fault at most, as
// [Checker.settles] has it: a server that took over may count the lease anew.
func (c *Checker) orphaned() map[int32][]span {
	left := map[int32][]span{}
	for _, own := range c.resources {
		var spans []span
		grants := grantsOf(own)
		for _, a := range own {
			for _, f := range c.faults {
				from, seen, of := c.leftBy(f, a)
				if !of || f.EndedNS < 0 {
					continue
				}
				s := span{max(from, f.lasts().from), f.EndedNS + c.settles()} // not before the fault, whenever that was asked for
				if next, _ := slices.BinarySearch(grants, seen+1); next < len(grants) {
					s.to = min(s.to, grants[next])
				}
				if s.from < s.to {
					spans = append(spans, s)
				}
			}
		}
		if len(spans) > 0 {
			left[own[0].resource] = apart(spans)
		}
	}
	return left
}

// leftBy says whether the fault may have left what a got to nobody, from when, and from when on the
// next grant shows that it is free again.
func (c *Checker) leftBy(f *fault, a *acquire) (from, seen int64, of bool) {
	stopped := a.stopped()
	switch {
	case a.outcome == unknown:
		return a.from, a.at, f.lasts().meets(span{a.from, a.at + 1})
	case a.granted() && stopped < math.MaxInt64 && a.answered == math.MaxInt64:
		return stopped, stopped, f.lasts().meets(span{stopped, stopped + 1})
	}
	end := c.lives[a.node].next(a.at)
	if !a.holds() || min(stopped, a.lost) < end.from || end.from == math.MaxInt64 {
		return 0, 0, false
	}
	ended := f.stops() && slices.Contains(f.Nodes, c.name(a.node)) && f.lasts().meets(span{end.from, end.seen + 1})
	return end.from, end.seen, ended
}
