package toxic

import (
	"fmt"
	"time"

	"locklab/internal/seed"
)

// Flaky is what packet loss looks like from above TCP: a share of the chunks is
// lost and sent again after Stall, and everything behind such a chunk waits.
type Flaky struct {
	lined
	Loss  float64       `json:"loss"`                 // 0 to 1: the share of chunks that come late
	Stall time.Duration `json:"stall_ns,format:nano"` // the retransmission timeout
	Seed  uint64        `json:"seed,omitzero"`
}

var _ Seeded = (*Flaky)(nil)

// Kind is flaky.
func (*Flaky) Kind() string { return "flaky" }

// Validate wants a loss and a stall.
func (t *Flaky) Validate() error {
	if !(t.Loss > 0 && t.Loss <= 1) || t.Stall <= 0 || t.Stall > longest {
		return fmt.Errorf("loss, stall_ns: want a loss above 0, up to 1, and a stall of up to %v", longest)
	}
	return nil
}

// Least is nothing: any byte may be spared.
func (*Flaky) Least(int64) time.Duration { return 0 }

// WithSeed draws what is lost.
func (t *Flaky) WithSeed(seed uint64) Effect { return &Flaky{Loss: t.Loss, Stall: t.Stall, Seed: seed} }

// NewState makes the queue of one direction of one connection.
func (t *Flaky) NewState() any {
	draw := seed.Seed(t.Seed).Rand()
	return newLine(func(arrived int64, _ int) int64 {
		if draw.Float64() < t.Loss {
			return arrived + int64(t.Stall)
		}
		return arrived
	})
}
