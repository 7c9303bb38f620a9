package fault

import (
	"fmt"
	"time"

	"locklab/chaos/toxic"
)

// Latency adds a delay to every byte.
func (kinds) Latency() Kind {
	return Kind{
		Name:    "latency",
		Summary: "traffic arrives later",
		Fields: traffic(
			Field{"delay", "50ms", "how much later, one way: at least 1ms", true},
			Field{"jitter", "10ms", "up to so much more, drawn for each chunk of bytes", false},
		),
		read: func(f fields) Fault {
			f.need("delay")
			l := &toxic.Latency{Delay: f.duration("delay", leastShift), Jitter: f.duration("jitter", 0)}
			return onLinks(f.sides(), l, slower{l.Delay + l.Jitter/2})
		},
	}
}

// slower proves that round trips take longer, by this much for each direction that is hit.
// It compares the quick quarter of the round trips with that of those before: a busy machine
// makes some of them long, never short.
type slower struct{ by time.Duration }

func (s slower) Adds() time.Duration { return s.by }

func (s slower) Ready(c *Change) bool { return c.compares() }

func (s slower) Begun(c *Change, now Reports) (int64, error) { return s.roundTrips(c, now, true) }

func (s slower) Ended(c *Change, now Reports) (int64, error) { return s.roundTrips(c, now, false) }

// roundTrips wants every probed pair's delay of now to be on the right side of the middle
// between what it was before and what the fault makes of it.
func (s slower) roundTrips(c *Change, now Reports, slow bool) (last int64, err error) {
	some := false
	for _, pair := range c.bothWays() {
		probe, at, ok := now.peer(pair.From, pair.To)
		if !ok {
			continue
		}
		shift := s.by * time.Duration(c.ways(pair))
		usual, err := c.usual(pair, 0.75, shift)
		if err != nil {
			return 0, err
		}
		fresh, first := freshOf(probe, at, c.Applied)
		if len(fresh) < wantedRTTs {
			return 0, fmt.Errorf("host %s has %d answers of %s since: want %d", pair.From, len(fresh), pair.To, wantedRTTs)
		}
		if takes, middle := quantile(fresh, quick), usual+shift/2; (takes >= middle) != slow {
			return 0, fmt.Errorf("round trips from %s to %s take %v: that is on the wrong side of %v", pair.From, pair.To, takes, middle)
		}
		if !some || first > last {
			last = first
		}
		some = true
	}
	if !some {
		return 0, errNoProbes
	}
	return last, nil
}
