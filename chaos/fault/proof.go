package fault

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"locklab/chaos/link"
)

// Proof proves a fault of links by its probes: it returns since when the fault shows, or what is missing.
type Proof interface {
	// Adds is the one-way delay that the fault adds, for histories; 0 for a cut. A delay is compared with what probes
	// took before it: see [Change.Compares].
	Adds() time.Duration
	Begun(c *Change, now Reports) (at int64, err error)
	Ended(c *Change, now Reports) (at int64, err error)
}

// Reports are what all hosts' probes saw at one moment.
type Reports map[string]Report

// Report is the report of one host.
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

// heard returns when the host last heard from an origin, and the probe's number; zeros if never.
func (r Reports) heard(host, from string) (at int64, sequence uint64) {
	for _, h := range r[host].Heard {
		if h.From == from {
			return r[host].At - int64(h.Age), h.Sequence
		}
	}
	return 0, 0
}

// Change is the beginning or the end of a fault, which a Proof has to show.
type Change struct {
	Plan    Plan
	Before  Reports // what the probes saw before the fault
	Asked   int64   // when it was asked for
	Applied int64   // when it was in force everywhere

	back map[Pair]int64 // when a pair's traffic was first seen to be back
	late map[leg]int64  // when the first late probe of a leg was sent
}

// NewChange returns a change that was asked for and applied at these times.
func NewChange(plan Plan, before Reports, asked, applied int64) *Change {
	return &Change{plan, before, asked, applied, map[Pair]int64{}, map[leg]int64{}}
}

// leg is the way of a host's probes to a peer or, if back is set, of the answers.
type leg struct {
	from, to string
	back     bool
}

func (l leg) String() string {
	if l.back {
		return fmt.Sprintf("answers from %s to %s", l.to, l.from)
	}
	return fmt.Sprintf("probes from %s to %s", l.from, l.to)
}

// passage is one probe, or its answer, on a leg. Two hosts' clocks differ: only differences between tooks
// mean something.
type passage struct {
	sent int64 // the probe
	took time.Duration
}

// passages returns those of a leg, oldest first; ok is false if the host does not probe the peer.
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

// eachLeg calls f for all legs that are probed, and fails if there is none.
func (c *Change) eachLeg(now Reports, f func(l leg, seen []passage) error) (err error) {
	some := false
	for _, pair := range c.Plan.Pairs { // From's probes, and From's answers to To's probes
		for _, l := range []leg{{pair.From, pair.To, false}, {pair.To, pair.From, true}} {
			if seen, ok := now.passages(l); ok {
				some, err = true, cmp.Or(err, f(l, seen))
			}
		}
	}
	if !some {
		return errNoProbes
	}
	return err
}

var errNoProbes = errors.New("no host probes another across the fault")

// every returns when the last probed pair showed the change. It fails if one has not, or none is probed.
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
	// wantedRTTs is how many round trips measure a delay, before and after a change. That at most one of
	// eight takes less than the upper quartile happens by chance once in 2,600 times.
	wantedRTTs = 8
	// quick is the quantile that measures the delay.
	quick = 0.25
)

// usual returns what a leg took before the fault. It fails if that varied, up to a quantile, by half of the
// shift or more.
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

// Compares says whether the probes before the fault suffice to compare with.
func (c *Change) Compares() bool {
	few := false
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

const (
	// silence is how long nothing may have arrived for traffic to count as cut, and missedProbes how many
	// probes must have been sent meanwhile.
	silence      = 25 * time.Millisecond
	missedProbes = 3
	// alive is the greatest age of the last probe of a host that works.
	alive = 250 * time.Millisecond
)

// silent proves that nothing of the traffic arrived for this long.
type silent struct{ least time.Duration }

func (silent) Adds() time.Duration { return 0 }

func (s silent) Begun(c *Change, now Reports) (int64, error) { return c.every(now, s.since) }

// since proves that nothing of the pair's traffic arrives: To hears no probes of From or, where only To
// probes, gets no answers of From. The other way must work, unless the fault cuts it too.
func (s silent) since(c *Change, now Reports, pair Pair) (at int64, probed bool, err error) {
	probe, sentAt, ok := now.peer(pair.From, pair.To)
	if !ok {
		return s.unanswered(c, now, Pair{pair.To, pair.From})
	}
	if _, reports := now[pair.To]; !reports {
		return 0, true, fmt.Errorf("host %s does not report", pair.To)
	}
	heardAt, sequence := now.heard(pair.To, pair.From)
	since := max(heardAt, c.Asked)
	switch {
	case probe.SentAge > alive:
		return 0, true, fmt.Errorf("host %s sends no probes", pair.From)
	case sentAt-since < int64(s.least) || probe.Sent < sequence+missedProbes:
		return 0, true, fmt.Errorf("host %s still hears %s", pair.To, pair.From)
	}
	return since, true, otherWay(c, now, pair)
}

// unanswered proves that the origin of probes gets no answers of the peer.
func (s silent) unanswered(c *Change, now Reports, probes Pair) (at int64, probed bool, err error) {
	probe, sentAt, ok := now.peer(probes.From, probes.To)
	if !ok {
		return 0, false, nil
	}
	since := max(sentAt-int64(probe.AnsweredAge), c.Asked)
	if sentAt-since < int64(s.least) || probe.Sent < probe.Answered+missedProbes {
		return 0, true, fmt.Errorf("host %s still gets answers of %s", probes.From, probes.To)
	}
	return since, true, otherWay(c, now, Pair{probes.To, probes.From})
}

// otherWay checks that a one-way cut leaves the other way alone.
func otherWay(c *Change, now Reports, pair Pair) error {
	if _, _, probed := now.peer(pair.To, pair.From); !probed || slices.Contains(c.Plan.Pairs, Pair{pair.To, pair.From}) {
		return nil
	}
	if heardAt, _ := now.heard(pair.From, pair.To); now[pair.From].At-heardAt > int64(alive) {
		return fmt.Errorf("host %s does not hear %s, which the fault does not explain", pair.From, pair.To)
	}
	return nil
}

// Ended proves that some traffic of every pair arrived after the heal. The first time is kept, as the last
// pair may be back much later.
func (silent) Ended(c *Change, now Reports) (int64, error) {
	return c.every(now, func(c *Change, now Reports, pair Pair) (at int64, probed bool, err error) {
		if first, seen := c.back[pair]; seen {
			return first, true, nil
		}
		if _, _, ok := now.peer(pair.From, pair.To); ok {
			if at, _ = now.heard(pair.To, pair.From); at <= c.Asked {
				return 0, true, fmt.Errorf("host %s does not hear %s again", pair.To, pair.From)
			}
		} else {
			probe, seenAt, ok := now.peer(pair.To, pair.From)
			if !ok {
				return 0, false, nil
			}
			if at = seenAt - int64(probe.AnsweredAge); at <= c.Asked {
				return 0, true, fmt.Errorf("host %s gets no answers of %s again", pair.To, pair.From)
			}
		}
		c.back[pair] = at
		return at, true, nil
	})
}

// slower proves that the traffic of every pair takes longer. It compares lower quartiles with those before
// the fault: a busy machine makes some passages longer, never shorter.
type slower struct{ by, adds time.Duration }

func (s slower) Adds() time.Duration { return s.adds }

func (s slower) Begun(c *Change, now Reports) (int64, error) { return s.passages(c, now, quick, true) }

func (s slower) Ended(c *Change, now Reports) (int64, error) { return s.passages(c, now, quick, false) }

// passages compares a quantile of each leg's passages now with the middle between the usual time and that
// with the fault: it must be above if slow, else below.
func (s slower) passages(c *Change, now Reports, q float64, slow bool) (last int64, err error) {
	last = math.MinInt64
	err = c.eachLeg(now, func(l leg, seen []passage) error {
		usual, err := c.usual(l, 0.75, s.by)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(seen, func(p passage) bool { return p.sent < c.Applied })
		if len(fresh) < wantedRTTs {
			return fmt.Errorf("there are %d %s since: want %d", len(fresh), l, wantedRTTs)
		}
		if more := quantile(tookOf(fresh), q) - usual; (more >= s.by/2) != slow {
			return fmt.Errorf("%s take %v more than before: that is on the wrong side of %v", l,
				more.Round(10*time.Microsecond), s.by/2)
		}
		last = max(last, fresh[0].sent)
		return nil
	})
	return last, err
}

// shownBy is the share of the legs on which a random fault must have been seen.
const shownBy = 0.9

// bychance proves that a share of the probes is late: at least one on nine of ten legs.
type bychance struct {
	slower
	after time.Duration // a passage is late if it takes this much more than usual
	share float64
}

func (b bychance) Begun(c *Change, now Reports) (first int64, err error) {
	legs, shown := 0, 0
	err = c.eachLeg(now, func(l leg, seen []passage) error {
		legs++
		usual, err := c.usual(l, max(0.75, 1-b.share/2), b.by) // ignores up to half of share that was late before
		if err != nil {
			return err
		}
		late := slices.IndexFunc(seen, func(p passage) bool { return p.sent >= c.Applied && p.took >= usual+b.after })
		if late >= 0 && c.late[l] == 0 { // kept, as a report has only the last few
			c.late[l] = seen[late].sent
		}
		if at := c.late[l]; at != 0 {
			if shown++; shown == 1 || at < first {
				first = at
			}
		}
		return nil
	})
	if err == nil && float64(shown) < shownBy*float64(legs) {
		err = fmt.Errorf("no probe was stalled on %d of %d ways between hosts", legs-shown, legs)
	}
	return first, err
}

// Ended proves that none of the last passages was late.
func (b bychance) Ended(c *Change, now Reports) (int64, error) { return b.passages(c, now, 1, false) }
