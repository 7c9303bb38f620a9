package check

import (
	"math"

	"locklab/workloads/loadgen"
)

// idleSince is since when each resource was neither granted nor held, to the end of the
// history, nor kept by the lease of a holder that did not release it.
func (c *Checker) idleSince(t timeline) []int64 {
	idle := make([]int64, len(c.names.list))
	for _, a := range c.acquires {
		if a.outcome != ok {
			continue
		}
		since := a.at
		if a.granted() {
			since = max(since, c.believed(a, t))
			if a.answered == math.MaxInt64 {
				since += c.leased()
			}
		}
		idle[a.resource] = max(idle[a.resource], since)
	}
	return idle
}

// callOff takes those out of account that the end of a closed loop cut short while others
// were served. Who had waited for nobody, for as long as a stall, was not served.
func (c *Checker) callOff(idle []int64) {
	kind := c.names.id(loadgen.ErrorCalledOff)
	for _, a := range c.acquires {
		if a.outcome != ok && a.errorKind == kind && a.at-max(a.asked(), idle[a.resource]) < int64(c.stall) {
			a.outcome = calledOff
		}
	}
}

// checkEnd judges what follows the last heal: a resource that is wanted to the end, and
// that nobody is granted any more, is not live, although no fault is in force.
func (c *Checker) checkEnd(f *Findings, t timeline, last window, resources [][]*acquire, idle []int64) {
	after := window{span: span{last.heal, t.end}, held: last.held, led: last.led, worst: Down}
	for _, own := range resources {
		since, stall, measured, wanted := max(idle[own[0].resource], after.from), int64(0), int64(0), int64(0)
		for _, s := range spansOf(c.wants(own)) {
			stall += max(s.to-max(s.from, since), 0)
			measured += max(min(s.to, t.drain)-max(s.from, since), 0)
			wanted = max(wanted, s.to)
		}
		if stall < int64(c.stall) || wanted < t.drain {
			continue
		}
		name := ""
		if len(resources) > 1 { // else it fares as the lock does
			name = c.names.text(own[0].resource)
		}
		length, live := after.to-after.from, Stalls
		if stall*2 >= length && length >= f.failover(after, name) {
			live = Down
		}
		c.fared(f, t, after, live, outage{from: since, to: wanted, lasts: measured, judged: stall}, name)
	}
}
