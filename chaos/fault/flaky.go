package fault

import (
	"fmt"
	"slices"
	"time"

	"locklab/chaos/toxic"
	"locklab/internal/strictyaml"
)

// leastStall is the least that single bytes come late: any program may be kept from its CPU
// for a few milliseconds now and then.
const leastStall = 20 * time.Millisecond

// Flaky is packet loss as TCP shows it: some bytes, and all behind them, are late.
func (kinds) Flaky() Kind {
	return Kind{
		Name:    "flaky",
		Summary: "a share of what is sent comes late, and all behind it, as where packets are lost",
		Fields: traffic(
			Field{"loss", "0.05", "the share that comes late: above 0, up to 1", true},
			Field{"stall", "200ms", "how late: at least 20ms", true},
		),
		read: func(f fields) Fault {
			loss, ok := strictyaml.Decimal(f.need("loss").Text())
			if !ok || loss == 0 || loss > 1 {
				f.Get("loss").Fail("want a share above 0, up to 1, such as 0.05")
			}
			f.need("stall")
			stall := f.duration("stall", leastStall)
			return onLinks(f.sides(), &toxic.Flaky{Loss: loss, Stall: stall}, bychance{slower{stall, stall}, stall / 2, loss})
		},
	}
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
