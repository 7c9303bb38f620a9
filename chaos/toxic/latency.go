package toxic

import (
	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/locks/seed"
)

// Latency delays every chunk by DelayNS plus a part of JitterNS that is drawn
// evenly. Order is kept: a chunk that draws a short delay behind one with a long
// one leaves together with it, as in a TCP stream.
type Latency struct {
	DelayNS  int64  `json:"delay_ns"`
	JitterNS int64  `json:"jitter_ns"`
	Seed     uint64 `json:"seed"` // of the jitter
}

var (
	_ toxics.StatefulToxic = (*Latency)(nil)
	_ toxics.CleanupToxic  = (*Latency)(nil)
	_ toxics.Toxic         = (*Latency)(nil)
)

// NewState makes the delay line of one direction of one connection.
func (t *Latency) NewState() any {
	draw := seed.Seed(t.Seed).Rand()
	return newLine(func(arrived int64, _ int) int64 {
		delay := t.DelayNS
		if t.JitterNS > 0 {
			delay += draw.Int64N(t.JitterNS)
		}
		return arrived + delay
	})
}

// Pipe delays until it is interrupted or the input ended.
func (t *Latency) Pipe(stub *toxics.ToxicStub) { stub.State.(*line).pipe(stub) }

// Cleanup delivers at once what is under way.
func (t *Latency) Cleanup(stub *toxics.ToxicStub) { stub.State.(*line).flush(stub.Output) }
