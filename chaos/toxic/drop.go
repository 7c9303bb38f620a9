package toxic

import (
	"sync"

	"github.com/Shopify/toxiproxy/v2/toxics"
)

// Drop swallows everything that is sent while the connection stays open. A TCP
// stream with a hole is something no network delivers: whoever removes the toxic
// should end the connections that lost bytes.
type Drop struct {
	cut
	mu        sync.Mutex
	swallowed int64
	notify    func(bytes int)
}

var _ Effect = (*Drop)(nil)

// Kind is drop.
func (*Drop) Kind() string { return "drop" }

// Pipe swallows until it is interrupted or the input ended.
func (t *Drop) Pipe(stub *toxics.ToxicStub) {
	for {
		select {
		case <-stub.Interrupt:
			return
		case chunk := <-stub.Input:
			if chunk == nil {
				stub.Close()
				return
			}
			t.swallow(len(chunk.Data))
		}
	}
}

// Notify has f called with the number of bytes of each chunk that is swallowed,
// at once with those that were swallowed before. f must not call the toxic.
func (t *Drop) Notify(f func(bytes int)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notify = f
	if t.swallowed > 0 {
		f(int(t.swallowed))
	}
}

func (t *Drop) swallow(bytes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.swallowed += int64(bytes)
	if t.notify != nil {
		t.notify(bytes)
	}
}
