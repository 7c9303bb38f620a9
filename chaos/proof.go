package chaos

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/chaos/fault"
	"locklab/chaos/link"
)

const (
	// silence is how long nothing may have arrived, although probes were sent every
	// few milliseconds, for the traffic to count as cut; and missedProbes how many
	// of them.
	silence      = 25 * time.Millisecond
	missedProbes = 3
	// longSilence is the same for what others break. It may come at any time within
	// minutes, in which a busy machine has many a hiccup, and lasts for long.
	longSilence = time.Second
	// alive is how old the last probe of a host that works may be.
	alive = 250 * time.Millisecond
	// freshRTTs is how many round trips tell the delay of now.
	freshRTTs = 3
)

// sight is what all hosts' probes saw at one moment.
type sight map[string]view

type view struct {
	at     int64 // clock.Mono of the controller
	report link.Report
}

func (s sight) peer(host, to string) (p link.PeerReport, at int64, ok bool) {
	v := s[host]
	for _, p := range v.report.Peers {
		if p.To == to {
			return p, v.at, true
		}
	}
	return p, 0, false
}

// heard is when and what the host last heard from an origin; zero if never.
func (s sight) heard(host, from string) (at int64, sequence uint64) {
	v := s[host]
	for _, h := range v.report.Heard {
		if h.From == from {
			return v.at - int64(h.Age), h.Sequence
		}
	}
	return 0, 0
}

// proof is what is to be seen.
type proof struct {
	plan    fault.Plan
	before  sight
	asked   int64 // when the change was asked for
	applied int64 // when it was in force everywhere
	pairs   map[fault.Pair]bool
	back    map[fault.Pair]int64 // when a pair's traffic was first seen to be back
	silence time.Duration
}

func newProof(plan fault.Plan, before sight, asked, applied int64) proof {
	p := proof{plan: plan, before: before, asked: asked, applied: applied, pairs: map[fault.Pair]bool{}, back: map[fault.Pair]int64{}}
	for _, pair := range plan.Pairs {
		p.pairs[pair] = true
	}
	p.silence = silence
	if len(plan.External) > 0 {
		p.silence = longSilence
	}
	return p
}

var errNoProbes = errors.New("no host probes another across the fault")

// begun says since when the traffic of the plan is hit, or why that is not proven.
func (s sight) begun(p proof) (at int64, err error) {
	switch p.plan.Evidence {
	case fault.Silent:
		return s.every(p, s.silentSince)
	case fault.Away:
		return s.away(p)
	case fault.Slower:
		return s.roundTrips(p, true)
	case fault.Stalls:
		return s.anyStall(p)
	default:
		return 0, nil
	}
}

// ended says when the traffic was back, or why that is not proven.
func (s sight) ended(p proof) (at int64, err error) {
	switch p.plan.Evidence {
	case fault.Silent:
		return s.every(p, func(p proof, pair fault.Pair) (int64, bool, error) {
			at, probed, err := s.backSince(p, pair)
			if first, seen := p.back[pair]; seen {
				return first, true, nil
			}
			if probed && err == nil {
				p.back[pair] = at
			}
			return at, probed, err
		})
	case fault.Away:
		return s.returned(p)
	case fault.Slower, fault.Stalls:
		return s.roundTrips(p, false)
	default:
		return p.applied, nil
	}
}

// every wants all pairs of hosts that are probed to show it, and at least one.
func (s sight) every(p proof, shows func(proof, fault.Pair) (at int64, probed bool, err error)) (last int64, err error) {
	some := false
	for _, pair := range p.plan.Pairs {
		at, probed, missing := shows(p, pair)
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

// silentSince proves that nothing of the pair's traffic arrives: requests of
// From's probes do not reach To, or, where only To probes, no answer does although
// the request did (unless the request's way is cut too).
func (s sight) silentSince(p proof, pair fault.Pair) (at int64, probed bool, err error) {
	if probe, sentAt, ok := s.peer(pair.From, pair.To); ok {
		if _, reports := s[pair.To]; !reports {
			return 0, true, fmt.Errorf("host %s does not report", pair.To)
		}
		heardAt, sequence := s.heard(pair.To, pair.From)
		since := max(heardAt, p.asked)
		switch {
		case probe.SentAge > alive:
			return 0, true, fmt.Errorf("host %s sends no probes", pair.From)
		case sentAt-since < int64(p.silence) || probe.Sent < sequence+missedProbes:
			return 0, true, fmt.Errorf("host %s still hears %s", pair.To, pair.From)
		}
		return since, true, s.otherWay(p, pair)
	}
	probe, sentAt, ok := s.peer(pair.To, pair.From)
	if !ok {
		return 0, false, nil
	}
	since := max(sentAt-int64(probe.AnsweredAge), p.asked)
	if sentAt-since < int64(p.silence) || probe.Sent < probe.Answered+missedProbes {
		return 0, true, fmt.Errorf("host %s still gets answers of %s", pair.To, pair.From)
	}
	return since, true, s.otherWay(p, pair)
}

// otherWay wants a cut of one way to leave the other one alone.
func (s sight) otherWay(p proof, pair fault.Pair) error {
	if _, _, probed := s.peer(pair.To, pair.From); !probed || p.pairs[fault.Pair{From: pair.To, To: pair.From}] {
		return nil
	}
	if heardAt, _ := s.heard(pair.From, pair.To); s[pair.From].at-heardAt > int64(alive) {
		return fmt.Errorf("host %s does not hear %s, which the fault does not explain", pair.From, pair.To)
	}
	return nil
}

// backSince proves that something of the pair's traffic arrived after the heal.
func (s sight) backSince(p proof, pair fault.Pair) (at int64, probed bool, err error) {
	if _, _, ok := s.peer(pair.From, pair.To); ok {
		heardAt, _ := s.heard(pair.To, pair.From)
		if heardAt <= p.asked {
			return 0, true, fmt.Errorf("host %s does not hear %s again", pair.To, pair.From)
		}
		return heardAt, true, nil
	}
	probe, seenAt, ok := s.peer(pair.To, pair.From)
	if !ok {
		return 0, false, nil
	}
	answeredAt := seenAt - int64(probe.AnsweredAge)
	if answeredAt <= p.asked {
		return 0, true, fmt.Errorf("host %s gets no answers of %s again", pair.To, pair.From)
	}
	return answeredAt, true, nil
}

// away proves that hosts are gone: the controller does not reach them, and whoever
// probes them gets no answer.
func (s sight) away(p proof) (last int64, err error) {
	for _, host := range p.plan.Gone {
		if _, reports := s[host]; reports {
			return 0, fmt.Errorf("host %s still answers the controller", host)
		}
	}
	return s.every(p, func(p proof, pair fault.Pair) (int64, bool, error) {
		probe, sentAt, ok := s.peer(pair.From, pair.To)
		if !ok || !slices.Contains(p.plan.Gone, pair.To) {
			return 0, false, nil
		}
		since := max(sentAt-int64(probe.AnsweredAge), p.asked)
		if sentAt-since < int64(p.silence) || probe.Sent < probe.Answered+missedProbes {
			return 0, true, fmt.Errorf("host %s still gets answers of %s", pair.From, pair.To)
		}
		return since, true, nil
	})
}

// returned proves that the controller reaches them again. Probes may not: a host
// that was started anew has forgotten its links.
func (s sight) returned(p proof) (last int64, err error) {
	for _, host := range p.plan.Gone {
		v, reports := s[host]
		if !reports {
			return 0, fmt.Errorf("host %s is not back", host)
		}
		last = max(last, v.at)
	}
	return last, nil
}

// roundTrips wants every probed pair's delay of now to be on the right side of the
// middle between what it was before and what the fault makes of it.
func (s sight) roundTrips(p proof, slower bool) (last int64, err error) {
	some := false
	for _, pair := range p.probed() {
		probe, at, ok := s.peer(pair.From, pair.To)
		if !ok {
			continue
		}
		some = true
		fresh, first := freshOf(probe, at, p.applied)
		if len(fresh) < freshRTTs {
			return 0, fmt.Errorf("host %s has %d answers of %s since: want %d", pair.From, len(fresh), pair.To, freshRTTs)
		}
		// A busy machine makes some round trips long, never short. So what is usual is
		// the quick quarter, and so is what is back to usual.
		now, middle := quantile(fresh, 0.5), p.usual(pair)+p.shift(pair)/2
		if !slower {
			now = quantile(fresh, 0.25)
		}
		if (now >= middle) != slower {
			return 0, fmt.Errorf("round trips from %s to %s take %v: that is on the wrong side of %v", pair.From, pair.To, now, middle)
		}
		last = max(last, first)
	}
	if !some {
		return 0, errNoProbes
	}
	return last, nil
}

// anyStall wants one round trip that took longer: stalls come by chance.
func (s sight) anyStall(p proof) (at int64, err error) {
	for _, pair := range p.probed() {
		probe, seenAt, ok := s.peer(pair.From, pair.To)
		if !ok {
			continue
		}
		for _, r := range probe.RTTs {
			sentAt := seenAt - int64(r.SentAge)
			if sentAt >= p.applied && r.Took >= p.usual(pair)+p.plan.Shift/2 {
				return sentAt, nil
			}
		}
	}
	return 0, errors.New("no probe was stalled")
}

// probed are the pairs whose round trips the fault changes, each once.
func (p proof) probed() (pairs []fault.Pair) {
	for _, pair := range p.plan.Pairs {
		for _, q := range []fault.Pair{pair, {From: pair.To, To: pair.From}} {
			if !slices.Contains(pairs, q) {
				pairs = append(pairs, q)
			}
		}
	}
	return pairs
}

// shift is what the fault adds to a round trip of From's probes to To.
func (p proof) shift(pair fault.Pair) (d time.Duration) {
	if p.pairs[pair] {
		d += p.plan.Shift
	}
	if p.pairs[fault.Pair{From: pair.To, To: pair.From}] {
		d += p.plan.Shift
	}
	return d
}

// usual is the round trip before the fault.
func (p proof) usual(pair fault.Pair) time.Duration {
	probe, _, ok := p.before.peer(pair.From, pair.To)
	if !ok || len(probe.RTTs) == 0 {
		return 0
	}
	var all []time.Duration
	for _, r := range probe.RTTs {
		all = append(all, r.Took)
	}
	return quantile(all, 0.25)
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
