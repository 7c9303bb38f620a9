package toxic

import (
	"errors"
	"fmt"
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Latency delays every chunk by Delay plus a part of Jitter that is drawn evenly. Order is
// kept: a chunk that draws a short delay behind one with a long one leaves together with
// it, as in a TCP stream.
type Latency struct {
	delays
	Delay  time.Duration `json:"delay_ns,format:nano"`
	Jitter time.Duration `json:"jitter_ns,format:nano"`
}

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

// Pipe delays.
func (t *Latency) Pipe(stub *toxics.ToxicStub) {
	l := lineOf(stub)
	l.run(stub, func(arrived int64, _ int) int64 {
		if t.Jitter > 0 {
			arrived += l.draw.Int64N(int64(t.Jitter))
		}
		return arrived + int64(t.Delay)
	})
}

// Flaky is what packet loss looks like from above TCP: a share of the chunks is
// lost and sent again after Stall, and everything behind such a chunk waits.
type Flaky struct {
	delays
	Loss  float64       `json:"loss"`                 // 0 to 1: the share of chunks that come late
	Stall time.Duration `json:"stall_ns,format:nano"` // the retransmission timeout
}

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

// Pipe delays some.
func (t *Flaky) Pipe(stub *toxics.ToxicStub) {
	l := lineOf(stub)
	l.run(stub, func(arrived int64, _ int) int64 {
		if l.draw.Float64() < t.Loss {
			return arrived + int64(t.Stall)
		}
		return arrived
	})
}

// Bandwidth lets BytesPerS bytes pass in a second; the rest queues up.
type Bandwidth struct {
	delays
	BytesPerS int64 `json:"bytes_per_s"`
}

// Kind is bandwidth.
func (*Bandwidth) Kind() string { return "bandwidth" }

// Validate wants a rate.
func (t *Bandwidth) Validate() error {
	if t.BytesPerS < 1 {
		return errors.New("bytes_per_s: want more than 0")
	}
	return nil
}

// Least is what the wire takes for them.
func (t *Bandwidth) Least(bytes int64) time.Duration {
	return time.Duration(float64(bytes) / float64(t.BytesPerS) * float64(time.Second))
}

// Pipe passes on at the rate.
func (t *Bandwidth) Pipe(stub *toxics.ToxicStub) {
	l := lineOf(stub)
	l.run(stub, func(arrived int64, size int) int64 {
		l.free = max(l.free, arrived) + int64(t.Least(int64(size)))
		return l.free
	})
}
