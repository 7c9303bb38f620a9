package fault

import (
	"fmt"
	"time"
)

const (
	// silence is how long nothing may have arrived, although probes were sent every
	// few milliseconds, for the traffic to count as cut; and missedProbes how many
	// of them.
	silence      = 25 * time.Millisecond
	missedProbes = 3
	// alive is how old the last probe of a host that works may be.
	alive = 250 * time.Millisecond
)

// silent proves that nothing of the traffic arrives any more, for so long.
type silent struct{ least time.Duration }

func (silent) Adds() time.Duration { return 0 }

func (silent) Ready(*Change) bool { return true }

func (s silent) Begun(c *Change, now Reports) (int64, error) { return c.every(now, s.since) }

// since proves that nothing of the pair's traffic arrives: requests of From's probes do not
// reach To, or, where only To probes, no answer does although the request did (unless the
// request's way is cut too).
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

// otherWay wants a cut of one way to leave the other one alone.
func otherWay(c *Change, now Reports, pair Pair) error {
	if _, _, probed := now.peer(pair.To, pair.From); !probed || c.hits(Pair{pair.To, pair.From}) {
		return nil
	}
	if heardAt, _ := now.heard(pair.From, pair.To); now[pair.From].At-heardAt > int64(alive) {
		return fmt.Errorf("host %s does not hear %s, which the fault does not explain", pair.From, pair.To)
	}
	return nil
}

// Ended proves that something of every pair's traffic arrived after the heal. That it did is
// kept: it may be a while until the last pair is back.
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
