package process

import (
	"sync"
	"sync/atomic"

	"locklab/workloads/history"
)

// Points are the places in a node's work at which it can be made to stop: see
// [history.KindPoint]. A nil one never stops.
type Points struct {
	armed    atomic.Pointer[string]
	mu       sync.Mutex // held from the decision to stop until the process goes on again
	recorder history.Recorder
	stop     func() // returns when the process goes on again
}

// NewPoints records to the recorder that a point was passed, and then stops.
func NewPoints(recorder history.Recorder, stop func()) *Points {
	return &Points{recorder: recorder, stop: stop}
}

// arm has the next pass of the point stop the process; "" is no point. It waits for a stop under way:
// once it has returned, only the point that it armed stops the process.
func (p *Points) arm(point string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if point == "" {
		p.armed.Store(nil)
		return
	}
	p.armed.Store(&point)
}

// Pass says that a client of the lock of that resource has come to a point of its work. If
// the process is to stop there, the whole of it does before Pass returns, with the event on
// record.
func (p *Points) Pass(point, resource string) {
	if p == nil {
		return
	}
	armed := p.armed.Load()
	if armed == nil || *armed != point {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed.CompareAndSwap(armed, nil) {
		return
	}
	history.Commit(p.recorder, history.Event{Kind: history.KindPoint, State: point, Resource: resource})
	p.stop()
}
