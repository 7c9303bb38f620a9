package toxic

import (
	"time"

	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Bandwidth lets BytesPerS bytes pass in a second; what comes faster queues up.
type Bandwidth struct {
	BytesPerS int64 `json:"bytes_per_s"`
}

var (
	_ toxics.StatefulToxic = (*Bandwidth)(nil)
	_ toxics.CleanupToxic  = (*Bandwidth)(nil)
	_ toxics.Toxic         = (*Bandwidth)(nil)
)

// NewState makes the queue of one direction of one connection.
func (t *Bandwidth) NewState() any {
	var free int64 // when the wire has sent all before
	return newLine(func(arrived int64, size int) int64 {
		free = max(free, arrived) + int64(size)*int64(time.Second)/max(t.BytesPerS, 1)
		return free
	})
}

// Pipe limits the rate until it is interrupted or the input ended.
func (t *Bandwidth) Pipe(stub *toxics.ToxicStub) { stub.State.(*line).pipe(stub) }

// Cleanup delivers at once what waits.
func (t *Bandwidth) Cleanup(stub *toxics.ToxicStub) { stub.State.(*line).flush(stub.Output) }
