package fault

import (
	"cmp"
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
	late map[leg]int64  // when a probe was sent that was late there
}

// NewChange is one that was asked for and is in force.
func NewChange(plan Plan, before Reports, asked, applied int64) *Change {
	return &Change{plan, before, asked, applied, map[Pair]int64{}, map[leg]int64{}}
}

func (c *Change) hits(pair Pair) bool { return slices.Contains(c.Plan.Pairs, pair) }

// leg is one way of the probes of a host to a peer, and back the way of their answers.
type leg struct {
	from, to string
	back     bool
}

// legsOf are the ways that show the traffic of an ordered pair: of From's probes there, and of
// To's answers back.
func legsOf(pair Pair) []leg {
	return []leg{{pair.From, pair.To, false}, {pair.To, pair.From, true}}
}

func (l leg) String() string {
	if l.back {
		return fmt.Sprintf("answers from %s to %s", l.to, l.from)
	}
	return fmt.Sprintf("probes from %s to %s", l.from, l.to)
}

// passage is one probe, or its answer, on a leg. The clocks of two hosts differ: only
// differences between what passages took mean something.
type passage struct {
	sent int64 // the probe
	took time.Duration
}

// passages are those of a leg that a report has, oldest first; ok is false if the host does not
// probe the other.
func (r Reports) passages(l leg) (all []passage, ok bool) {
	probe, at, ok := r.peer(l.from, l.to)
	for _, rtt := range probe.RTTs {
		p := passage{at - int64(rtt.SentAge), rtt.There}
		if l.back {
			p.took = rtt.Took - rtt.There
		}
		all = append(all, p)
	}
	return all, ok
}

// eachLeg calls f for the legs of all pairs that are probed, and wants one at least.
func (c *Change) eachLeg(now Reports, f func(l leg, seen []passage) error) (err error) {
	some := false
	for _, pair := range c.Plan.Pairs {
		for _, l := range legsOf(pair) {
			seen, ok := now.passages(l)
			if !ok {
				continue
			}
			some = true
			err = cmp.Or(err, f(l, seen))
		}
	}
	if !some {
		return errNoProbes
	}
	return err
}

var errNoProbes = errors.New("no host probes another across the fault")

// every wants all pairs of hosts that are probed to show it, and at least one.
func (c *Change) every(now Reports,
	shows func(c *Change, now Reports, pair Pair) (at int64, probed bool, err error),
) (last int64, err error) {
	some := false
	for _, pair := range c.Plan.Pairs {
		at, probed, missing := shows(c, now, pair)
		if probed && (!some || at > last) {
			last = at
		}
		some, err = some || probed, cmp.Or(err, missing)
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

// usual is what a leg took before the fault. Where that varied, up to a quantile, by as much as
// half of what the fault adds, nothing can be told from it.
func (c *Change) usual(l leg, upTo float64, shift time.Duration) (time.Duration, error) {
	seen, _ := c.Before.passages(l)
	if len(seen) < wantedRTTs {
		return 0, fmt.Errorf("there are %d %s before the fault: want %d", len(seen), l, wantedRTTs)
	}
	all := tookOf(seen)
	usual := quantile(all, quick)
	if noise := quantile(all, upTo) - usual; noise >= shift/2 {
		return 0, fmt.Errorf("%s varied by %v before the fault: %v more cannot be told from that", l,
			noise.Round(10*time.Microsecond), shift)
	}
	return usual, nil
}

// compares says whether there are enough passages before the fault.
func (c *Change) compares() bool {
	few := c.Before == nil
	_ = c.eachLeg(c.Before, func(_ leg, seen []passage) error { few = few || len(seen) < wantedRTTs; return nil })
	return !few
}

func tookOf(all []passage) (took []time.Duration) {
	for _, p := range all {
		took = append(took, p.took)
	}
	return took
}

func quantile(all []time.Duration, q float64) time.Duration {
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}
