package fault

import (
	"fmt"
	"math"
	"slices"
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
			return onLinks(f.sides(), l, slower{l.Delay, l.Delay + l.Jitter/2})
		},
	}
}

// slower proves that the traffic of every ordered pair takes longer, by this much at least. It
// compares the quick quarter of the passages with that of those before: a busy machine makes
// some of them long, never short.
type slower struct{ by, adds time.Duration }

func (s slower) Adds() time.Duration { return s.adds }

func (s slower) Ready(c *Change) bool { return c.compares() }

func (s slower) Begun(c *Change, now Reports) (int64, error) { return s.passages(c, now, quick, true) }

func (s slower) Ended(c *Change, now Reports) (int64, error) { return s.passages(c, now, quick, false) }

// passages wants a quantile of what every leg takes now to be on the right side of the middle
// between what it was before and what the fault makes of it.
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
