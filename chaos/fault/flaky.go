package fault

import (
	"errors"
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
			return onLinks(f.sides(), &toxic.Flaky{Loss: loss, Stall: stall}, stalls{slower{stall}})
		},
	}
}

// stalls proves that one round trip took longer than any before: stalls come by chance.
type stalls struct{ slower }

func (s stalls) Begun(c *Change, now Reports) (at int64, err error) {
	err = errNoProbes
	for _, pair := range c.bothWays() {
		probe, seenAt, ok := now.peer(pair.From, pair.To)
		if !ok {
			continue
		}
		usual, unusable := c.usual(pair, 1, s.by)
		if unusable != nil {
			err = unusable
			continue
		}
		for _, r := range probe.RTTs {
			sentAt := seenAt - int64(r.SentAge)
			if sentAt >= c.Applied && r.Took >= usual+s.by/2 {
				return sentAt, nil
			}
		}
		err = errors.New("no probe was stalled")
	}
	return 0, err
}
