package mesh

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// room knows how many links have more to send than Limits.Queue.
type room struct {
	full atomic.Int32
	mu   sync.Mutex
	free chan struct{} // closed when none is full any more; nil while none is
}

// Full is nil while there is room in the queues to all peers. Otherwise it is closed as
// soon as there is. Who has something to say that can wait should wait for it: a queue
// takes what comes all the same, since the connection is not given up for that. A peer
// that is gone gives up its room when its silence is noticed.
func (m *Mesh) Full() <-chan struct{} {
	if m.room.full.Load() == 0 {
		return nil
	}
	m.room.mu.Lock()
	defer m.room.mu.Unlock()
	return m.room.free
}

func (r *room) change(by int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n := r.full.Add(by); {
	case n > 0 && r.free == nil:
		r.free = make(chan struct{})
	case n == 0:
		close(r.free)
		r.free = nil
	}
}

// look notes whether the queue is full now. It has room again when half of it is empty.
func (l *Link) look() {
	limit := l.mesh.cfg.Limits.Queue
	switch waits := len(l.out) + len(l.left); {
	case l.full && (waits <= limit/2 || l.cause != nil):
		l.full = false
		l.mesh.room.change(-1)
	case !l.full && waits > limit && l.cause == nil:
		l.full, l.movedAt = true, time.Duration(l.mesh.ran.Load())
		l.mesh.room.change(1)
	}
}

// moved notes that the socket took something.
func (l *Link) moved() {
	l.movedAt = time.Duration(l.mesh.ran.Load())
	l.look()
}

// checkReads ends the link if the queue is full and the socket has taken nothing for too
// long: the peer speaks, perhaps, but does not read.
func (l *Link) checkReads(now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if most := l.mesh.cfg.Timing.SilenceMax; l.full && now-l.movedAt > most {
		l.endLocked(fmt.Errorf("%d bytes wait to be sent and none went for %v: %w", len(l.out)+len(l.left), most, ErrSlow))
	}
}
