package fault

import (
	"strconv"

	"locklab/chaos/link"
	"locklab/chaos/toxic"
)

// mostBytes is where a probe, which is 16 KiB at most, takes as long as leastShift.
const mostBytes = 16_000_000

// Bandwidth makes every connection slow.
func (kinds) Bandwidth() Kind {
	return Kind{
		Name:    "bandwidth",
		Summary: "every connection carries so many bytes a second at most",
		Fields: traffic(Field{
			"bytes_per_s", "100000", "what every connection carries at most, one way: 1 to 16000000",
			true,
		}),
		read: func(f fields) Fault {
			text := f.need("bytes_per_s").Text()
			rate, err := strconv.ParseInt(text, 10, 64)
			if err != nil || rate < 1 || rate > mostBytes {
				f.Get("bytes_per_s").Fail("%q: want a whole number from 1 to %d: probes see no more", text, mostBytes)
			}
			return onLinks(f.sides(), &toxic.Bandwidth{BytesPerS: rate}, slower{link.ProbeTime(rate), link.ProbeTime(rate)})
		},
	}
}
