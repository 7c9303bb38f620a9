package fault

import (
	"fmt"
	"math"
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

const (
	// shownBy is the share of the legs on which something random must have been seen.
	shownBy = 0.9
	// improbable does not happen by chance, on any of some hundred ways.
	improbable = 1e-6
)

// bychance proves that a share of what is sent is late: on nine of ten legs something was, and
// on all of them as much as that share explains.
type bychance struct {
	slower
	after time.Duration // is late
	share float64
}

func (b bychance) Begun(c *Change, now Reports) (first int64, err error) {
	legs, shown := 0, 0
	err = c.eachLeg(now, func(l leg, seen []passage) error {
		legs++
		all := c.since(l, seen)
		if len(all) < wantedRTTs {
			return fmt.Errorf("there are %d %s since: want %d", len(all), l, wantedRTTs)
		}
		usual, err := c.usual(l, max(0.75, 1-b.share/2), b.by) // a hiccup is none of the many that are late
		if err != nil {
			return err
		}
		isLate := func(p passage) bool { return p.took >= usual+b.after }
		if n := slices.IndexFunc(all, isLate); n >= 0 {
			if shown++; shown == 1 || all[n].sent < first {
				first = all[n].sent
			}
		}
		trials, late := draws(all, usual, isLate)
		if atMost(late, trials, b.share) < improbable || late > 0 && 1-atMost(late-1, trials, b.share) < improbable {
			return fmt.Errorf("%d of %d %s were stalled: a share of %v does not explain that", late, trials, l, b.share)
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

// since adds what was seen of a leg since the change: a report has the last few only.
func (c *Change) since(l leg, seen []passage) []passage {
	for _, p := range seen {
		if p.sent >= c.Applied && p.number > c.newest[l] {
			c.seen[l], c.newest[l] = append(c.seen[l], p), p.number
		}
	}
	return c.seen[l]
}

// draws counts the passages that did not wait behind another one, as each of them was a draw of
// its own, and those of them that were late.
func draws(all []passage, usual time.Duration, isLate func(passage) bool) (trials, late int) {
	free := int64(math.MinInt64) // when all before had arrived
	for _, p := range all {
		waits := p.left+int64(usual) < free
		free = max(free, p.arrived)
		if waits {
			continue
		}
		if trials++; isLate(p) {
			late++
		}
	}
	return trials, late
}

// atMost is how probable k or fewer successes are in n trials, each of which succeeds with
// the probability p.
func atMost(k, n int, p float64) (sum float64) {
	if k >= n {
		return 1
	}
	if p >= 1 {
		return 0
	}
	term := float64(n) * math.Log1p(-p) // the logarithm of the probability of i successes
	for i := range k + 1 {
		sum += math.Exp(term)
		term += math.Log(float64(n-i) / float64(i+1) * p / (1 - p))
	}
	return min(sum, 1)
}
