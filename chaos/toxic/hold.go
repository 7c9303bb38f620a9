package toxic

import (
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/locks/clock"
)

// Hold keeps everything that is sent and delivers it, in order, when the toxic is
// removed: what a partition does to a TCP connection that outlives it. When it
// keeps 4 MiB it stops reading.
type Hold struct{ cut }

var (
	_ toxics.StatefulToxic = (*Hold)(nil)
	_ toxics.CleanupToxic  = (*Hold)(nil)
	_ Effect               = (*Hold)(nil)
)

// Kind is hold.
func (*Hold) Kind() string { return "hold" }

type held struct {
	chunks []*stream.StreamChunk
	bytes  int
	ended  bool
}

// NewState makes the store of one direction of one connection.
func (*Hold) NewState() any { return new(held) }

// Pipe keeps what comes until it is interrupted. When the input ends while
// something is kept, the end is kept too.
func (*Hold) Pipe(stub *toxics.ToxicStub) {
	h := stub.State.(*held)
	for {
		input := stub.Input
		if h.ended || h.bytes > maxKept {
			input = nil
		}
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-input:
			switch {
			case chunk != nil:
				h.chunks = append(h.chunks, chunk)
				h.bytes += len(chunk.Data)
			case len(h.chunks) == 0:
				stub.Close()
				return
			default:
				h.ended = true
			}
		}
	}
}

// Cleanup delivers what was kept.
func (*Hold) Cleanup(stub *toxics.ToxicStub) {
	h := stub.State.(*held)
	for _, chunk := range h.chunks {
		chunk.Timestamp = clock.System().Now()
		stub.Output <- chunk
	}
	h.chunks, h.bytes = nil, 0
	if h.ended {
		stub.Close()
	}
}
