package redlock

import (
	"context"
	"slices"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
)

// queue is the process's own queue for one resource, with Publish. Only its first
// competes on Redis; while the process itself holds the lock nobody of it asks Redis
// anything. A queue exists while somebody is in it, and a moment longer if other
// processes wait too. With Poll every claim has a queue of its own.
type queue struct {
	resource string
	lane     int
	home     int

	// Guarded by Locker.mu.
	busy     bool // somebody competes or holds
	waiters  []chan struct{}
	turnLeft int  // how many of its own this process may still serve before others
	ownTurn  bool // the next grant continues the turn
	others   bool // other processes wait, as far as known
	yield    bool // the next to compete lets others go first
	lingers  bool // kept for a moment without use

	releasing *lease        // whose deletion at home is not answered
	answered  chan struct{} // made by who waits for that answer

	woken chan struct{} // holds one value after a wake-up
}

// turnMax bounds how many waiters a process serves in a row while others wait. A
// turn serves those who waited when it began, so that workers get equal shares
// however they are spread over processes.
const turnMax = 16

// linger is how long a queue remembers that other processes wait.
const linger = 50 * time.Millisecond

// join gets into the queue. turn is nil if the caller is first; otherwise it is closed when
// the caller's turn comes. ok is false if the client is closed; otherwise the caller
// owes calls.Done.
func (l *Locker) join(resource string) (q *queue, turn chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, nil, false
	}
	l.calls.Add(1)
	q, known := l.queues[resource]
	if !known {
		q = &queue{
			resource: resource,
			lane:     laneOf(l.hashSeed, resource),
			home:     homeOf(resource, len(l.instances)),
		}
		if l.options.Wake == Publish {
			q.woken = make(chan struct{}, 1)
			l.queues[resource] = q
		}
	}
	if !q.busy {
		q.busy = true
		return q, nil, true
	}
	turn = make(chan struct{})
	q.waiters = append(q.waiters, turn)
	return q, turn, true
}

// abandon leaves the queue, or passes on a turn that has just come.
func (l *Locker) abandon(q *queue, turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(q.waiters, turn); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
		return
	}
	l.next(q)
}

// leave ends the caller's turn.
func (l *Locker) leave(q *queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next(q)
}

// next gives the turn to the next in the queue. The caller holds mu.
func (l *Locker) next(q *queue) {
	if len(q.waiters) > 0 {
		close(q.waiters[0])
		q.waiters[0] = nil
		q.waiters = q.waiters[1:]
		return
	}
	q.busy = false
	l.retire(q)
}

// retire forgets a queue that has no use any more. The caller holds mu.
func (l *Locker) retire(q *queue) {
	if q.busy || q.releasing != nil || q.lingers || l.queues[q.resource] != q {
		return
	}
	if q.others && !l.closing {
		q.lingers = true
		l.clock.AfterFunc(linger, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			q.lingers = false
			if !q.busy {
				q.others = false
			}
			l.retire(q)
		})
		return
	}
	delete(l.queues, q.resource)
}

// adopt registers a granted hold as a lease. The error is ErrClosed if the client
// closes, and ErrNotHeld if the hold was lost since it was granted: drop, which then
// found no lease, will not come again to let the queue go on.
func (l *Locker) adopt(le *lease) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return locks.ErrClosed
	}
	if signals.Closed(le.lost) {
		return locks.ErrNotHeld
	}
	l.held[le] = struct{}{}
	if q := le.queue; !q.ownTurn {
		q.turnLeft = min(len(q.waiters), turnMax)
	}
	return nil
}

// beginRelease decides, before the deletions are sent, who is to be next: a waiter
// of this process or one of another.
func (l *Locker) beginRelease(le *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := l.held[le]; !held {
		return // lost before: the queue has gone on
	}
	q := le.queue
	waiters := len(q.waiters) > 0
	q.ownTurn = waiters && (!q.others || q.turnLeft > 0)
	q.yield = !q.ownTurn && q.others
	if q.ownTurn {
		q.turnLeft--
		le.serveOwn()
	}
	if le.home >= 0 {
		q.releasing = le
	}
}

// drop ends a lease at this client: its queue goes on.
func (l *Locker) drop(le *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := l.held[le]; held {
		delete(l.held, le)
		l.next(le.queue)
	}
}

// homeAnswered notes what the answer to a deletion said about other processes.
func (l *Locker) homeAnswered(le *lease, others bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := le.queue
	if q.releasing != le { // of an attempt: its answer tells only what it saw
		q.others = q.others || others
	} else {
		q.others, q.releasing = others, nil
		if q.answered != nil {
			close(q.answered)
			q.answered = nil
		}
	}
	l.retire(q)
}

// mustYield says whether the caller, first in its process's queue, has to let other
// processes go first. Right after a release that is known only from its answer.
func (l *Locker) mustYield(ctx context.Context, q *queue) bool {
	l.mu.Lock()
	yield := q.yield
	q.yield = false
	var answered chan struct{}
	if yield && q.releasing != nil {
		if q.answered == nil {
			q.answered = make(chan struct{})
		}
		answered = q.answered
	}
	l.mu.Unlock()
	if !yield {
		return false
	}
	if answered != nil {
		if _, came, _ := await(ctx, l, l.timeout, answered); !came {
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return q.others
}

// wakeQueue passes a wake-up to who competes for the resource. It is false if
// nobody does.
func (l *Locker) wakeQueue(resource string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	q, known := l.queues[resource]
	if !known || !q.busy {
		return false
	}
	signals.Wake(q.woken)
	return true
}
