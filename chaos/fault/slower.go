package fault

import (
	"fmt"
	"math"
	"slices"
	"time"
)

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

// shownBy is the share of the legs on which something random must have been seen.
const shownBy = 0.9

// bychance proves that a share of what is sent is late: on nine of ten legs something was.
type bychance struct {
	slower
	after time.Duration // is late
	share float64
}

func (b bychance) Begun(c *Change, now Reports) (first int64, err error) {
	legs, shown := 0, 0
	err = c.eachLeg(now, func(l leg, seen []passage) error {
		legs++
		usual, err := c.usual(l, max(0.75, 1-b.share/2), b.by) // a hiccup is none of the many that are late
		if err != nil {
			return err
		}
		late := slices.IndexFunc(seen, func(p passage) bool { return p.sent >= c.Applied && p.took >= usual+b.after })
		if late >= 0 && c.late[l] == 0 { // kept, as a report has the last few only
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

// Ended wants nothing to be late any more of the last passages.
func (b bychance) Ended(c *Change, now Reports) (int64, error) { return b.passages(c, now, 1, false) }
