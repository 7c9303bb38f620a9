package fault

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/chaos/link"
)

// Proof is how the probes show a fault of links. Each says since when, or why it is not
// shown.
type Proof interface {
	// Adds is what the fault adds to the way of a byte, as histories have it: 0 of one that
	// lets none through.
	Adds() time.Duration
	// Ready says whether the probes before the fault suffice to compare with.
	Ready(c *Change) bool
	Begun(c *Change, now Reports) (at int64, err error)
	Ended(c *Change, now Reports) (at int64, err error)
}

// Reports are what all hosts' probes saw at one moment.
type Reports map[string]Report

// Report is that of one host.
type Report struct {
	At int64 // clock.Mono of the controller
	link.Report
}

func (r Reports) peer(host, to string) (p link.PeerReport, at int64, ok bool) {
	for _, p := range r[host].Peers {
		if p.To == to {
			return p, r[host].At, true
		}
	}
	return p, 0, false
}

// heard is when and what the host last heard from an origin; zero if never.
func (r Reports) heard(host, from string) (at int64, sequence uint64) {
	for _, h := range r[host].Heard {
		if h.From == from {
			return r[host].At - int64(h.Age), h.Sequence
		}
	}
	return 0, 0
}

// Change is the beginning or the end of a fault, which is to be shown.
type Change struct {
	Plan    Plan
	Before  Reports // the fault
	Asked   int64   // when it was asked for
	Applied int64   // when it was in force everywhere

	back map[Pair]int64 // when a pair's traffic was first seen to be back
}

// NewChange is one that was asked for and is in force.
func NewChange(plan Plan, before Reports, asked, applied int64) *Change {
	return &Change{plan, before, asked, applied, map[Pair]int64{}}
}

func (c *Change) hits(pair Pair) bool { return slices.Contains(c.Plan.Pairs, pair) }

// ways is how many of the two ways of a round trip the fault hits.
func (c *Change) ways(pair Pair) (n int) {
	for _, p := range []Pair{pair, {pair.To, pair.From}} {
		if c.hits(p) {
			n++
		}
	}
	return n
}

// bothWays are the pairs whose round trips the fault changes, each once.
func (c *Change) bothWays() (pairs []Pair) {
	for _, p := range c.Plan.Pairs {
		for _, q := range []Pair{p, {p.To, p.From}} {
			if !slices.Contains(pairs, q) {
				pairs = append(pairs, q)
			}
		}
	}
	return pairs
}

var errNoProbes = errors.New("no host probes another across the fault")

// every wants all pairs of hosts that are probed to show it, and at least one.
func (c *Change) every(now Reports, shows func(c *Change, now Reports, pair Pair) (at int64, probed bool, err error)) (last int64, err error) {
	some := false
	for _, pair := range c.Plan.Pairs {
		at, probed, missing := shows(c, now, pair)
		if probed && (!some || at > last) {
			last = at
		}
		some = some || probed
		if missing != nil && err == nil {
			err = missing
		}
	}
	if !some {
		return 0, errNoProbes
	}
	return last, err
}

const (
	// wantedRTTs is how many round trips tell a delay, before and after a change: that at
	// most one of eight is as quick as the quick quarter was, by chance, happens once in
	// thousands of times.
	wantedRTTs = 8
	// quick is the quantile that tells the delay.
	quick = 0.25
)

// usual is the round trip before the fault. Where it varied, up to a quantile, by as much
// as half of what the fault adds, nothing can be told from it.
func (c *Change) usual(pair Pair, upTo float64, shift time.Duration) (time.Duration, error) {
	probe, _, _ := c.Before.peer(pair.From, pair.To)
	if len(probe.RTTs) < wantedRTTs {
		return 0, fmt.Errorf("host %s has %d answers of %s before the fault: want %d", pair.From, len(probe.RTTs), pair.To, wantedRTTs)
	}
	all := make([]time.Duration, 0, len(probe.RTTs))
	for _, r := range probe.RTTs {
		all = append(all, r.Took)
	}
	usual := quantile(all, quick)
	if noise := quantile(all, upTo) - usual; noise >= shift/2 {
		return 0, fmt.Errorf("round trips from %s to %s varied by %v before the fault: %v more cannot be told from that", pair.From, pair.To, noise.Round(10*time.Microsecond), shift)
	}
	return usual, nil
}

// compares says whether there are enough round trips before the fault.
func (c *Change) compares() bool {
	return !slices.ContainsFunc(c.bothWays(), func(pair Pair) bool {
		probe, _, ok := c.Before.peer(pair.From, pair.To)
		return c.Before == nil || ok && len(probe.RTTs) < wantedRTTs
	})
}

// freshOf are the round trips of probes that were sent after a moment, and when the
// first of them was sent.
func freshOf(probe link.PeerReport, at, after int64) (fresh []time.Duration, first int64) {
	for _, r := range probe.RTTs {
		if sentAt := at - int64(r.SentAge); sentAt >= after {
			if len(fresh) == 0 {
				first = sentAt
			}
			fresh = append(fresh, r.Took)
		}
	}
	return fresh, first
}

func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}
