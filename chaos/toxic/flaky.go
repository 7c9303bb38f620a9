package toxic

import (
	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/locks/seed"
)

// Flaky is what packet loss looks like from above TCP: a share of the chunks is
// lost and sent again after StallNS, and everything behind such a chunk waits.
type Flaky struct {
	Loss    float64 `json:"loss"`     // 0 to 1: the share of chunks that come late
	StallNS int64   `json:"stall_ns"` // the retransmission timeout
	Seed    uint64  `json:"seed"`
}

var (
	_ toxics.StatefulToxic = (*Flaky)(nil)
	_ toxics.CleanupToxic  = (*Flaky)(nil)
	_ toxics.Toxic         = (*Flaky)(nil)
)

// NewState makes the queue of one direction of one connection.
func (t *Flaky) NewState() any {
	draw := seed.Seed(t.Seed).Rand()
	return newLine(func(arrived int64, _ int) int64 {
		if draw.Float64() < t.Loss {
			return arrived + t.StallNS
		}
		return arrived
	})
}

// Pipe stalls chunks until it is interrupted or the input ended.
func (t *Flaky) Pipe(stub *toxics.ToxicStub) { stub.State.(*line).pipe(stub) }

// Cleanup delivers at once what waits.
func (t *Flaky) Cleanup(stub *toxics.ToxicStub) { stub.State.(*line).flush(stub.Output) }
