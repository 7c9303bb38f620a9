package toxic

import (
	"fmt"
	"time"

	"locklab/internal/seed"
)

// Latency delays every chunk by Delay plus a part of Jitter that is drawn evenly. Order is
// kept: a chunk that draws a short delay behind one with a long one leaves together with
// it, as in a TCP stream.
type Latency struct {
	lined
	Delay  time.Duration `json:"delay_ns,format:nano"`
	Jitter time.Duration `json:"jitter_ns,format:nano"`
	Seed   uint64        `json:"seed,omitzero"` // of the jitter
}

var _ Seeded = (*Latency)(nil)

// Kind is latency.
func (*Latency) Kind() string { return "latency" }

// Validate wants a delay.
func (t *Latency) Validate() error {
	if t.Delay < 0 || t.Jitter < 0 || t.Delay > longest || t.Jitter > longest || t.Delay+t.Jitter == 0 {
		return fmt.Errorf("delay_ns, jitter_ns: want more than 0, up to %v each", longest)
	}
	return nil
}

// Least is the delay.
func (t *Latency) Least(int64) time.Duration { return t.Delay }

// WithSeed draws the jitter.
func (t *Latency) WithSeed(seed uint64) Effect {
	return &Latency{Delay: t.Delay, Jitter: t.Jitter, Seed: seed}
}

// NewState makes the delay line of one direction of one connection.
func (t *Latency) NewState() any {
	draw := seed.Seed(t.Seed).Rand()
	return newLine(func(arrived int64, _ int) int64 {
		delay := int64(t.Delay)
		if t.Jitter > 0 {
			delay += draw.Int64N(int64(t.Jitter))
		}
		return arrived + delay
	})
}
