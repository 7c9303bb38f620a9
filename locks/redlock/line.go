package redlock

import (
	"context"
	"slices"
	"time"

	"locklab/locks"
)

// line is the process's own queue for one resource, with Publish. Only its first
// competes on Redis; while the process itself holds the lock nobody of it asks Redis
// anything. A line exists while somebody is in it, and a moment longer if other
// processes wait too. With Poll everybody has a line for himself.
type line struct {
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

	releasing *hold         // whose deletion at home is not answered
	answered  chan struct{} // made by who waits for that answer

	woken chan struct{} // holds one value after a wake-up
}

// turnMax bounds how many waiters a process serves in a row while others wait. A
// turn serves those who waited when it began, so that workers get equal shares
// however they are spread over processes.
const turnMax = 16

// linger is how long a line remembers that other processes wait.
const linger = 50 * time.Millisecond

// join gets in line. turn is nil if the caller is first; otherwise it is closed when
// the caller's turn comes. ok is false if the client is closed; otherwise the caller
// owes calls.Done.
func (l *Locker) join(resource string) (ln *line, turn chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, nil, false
	}
	l.calls.Add(1)
	ln, known := l.lines[resource]
	if !known {
		ln = &line{
			resource: resource,
			lane:     laneOf(l.hashSeed, resource),
			home:     homeOf(resource, len(l.instances)),
			woken:    make(chan struct{}, 1),
		}
		if l.options.Wake == Publish {
			l.lines[resource] = ln
		}
	}
	if !ln.busy {
		ln.busy = true
		return ln, nil, true
	}
	turn = make(chan struct{})
	ln.waiters = append(ln.waiters, turn)
	return ln, turn, true
}

// abandon leaves the line, or passes on a turn that has just come.
func (l *Locker) abandon(ln *line, turn chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(ln.waiters, turn); i >= 0 {
		ln.waiters = slices.Delete(ln.waiters, i, i+1)
		return
	}
	l.next(ln)
}

// leave ends the caller's turn.
func (l *Locker) leave(ln *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next(ln)
}

// next gives the turn to the next in line. The caller holds mu.
func (l *Locker) next(ln *line) {
	if len(ln.waiters) > 0 {
		close(ln.waiters[0])
		ln.waiters[0] = nil
		ln.waiters = ln.waiters[1:]
		return
	}
	ln.busy = false
	l.retire(ln)
}

// retire forgets a line that has no use any more. The caller holds mu.
func (l *Locker) retire(ln *line) {
	if ln.busy || ln.releasing != nil || ln.lingers || l.lines[ln.resource] != ln {
		return
	}
	if ln.others && !l.closing {
		ln.lingers = true
		l.clock.AfterFunc(linger, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			ln.lingers = false
			if !ln.busy {
				ln.others = false
			}
			l.retire(ln)
		})
		return
	}
	delete(l.lines, ln.resource)
}

// adopt registers a granted hold as a lease. The error is ErrClosed if the client
// closes, and ErrNotHeld if the hold was lost since it was granted: drop, which then
// found no lease, will not come again to let the line go on.
func (l *Locker) adopt(h *hold) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return locks.ErrClosed
	}
	select {
	case <-h.lost:
		return locks.ErrNotHeld
	default:
	}
	l.held[h] = struct{}{}
	if ln := h.line; !ln.ownTurn {
		ln.turnLeft = min(len(ln.waiters), turnMax)
	}
	return nil
}

// beginRelease decides, before the deletions are sent, who is to be next: a waiter
// of this process or one of another.
func (l *Locker) beginRelease(h *hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := l.held[h]; !held {
		return // lost before: the line has gone on
	}
	ln := h.line
	waiters := len(ln.waiters) > 0
	ln.ownTurn = waiters && (!ln.others || ln.turnLeft > 0)
	ln.yield = !ln.ownTurn && ln.others
	if ln.ownTurn {
		ln.turnLeft--
		h.serveOwn()
	}
	if h.home >= 0 {
		ln.releasing = h
	}
}

// drop ends a lease at this client: its line goes on.
func (l *Locker) drop(h *hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, held := l.held[h]; held {
		delete(l.held, h)
		l.next(h.line)
	}
}

// homeAnswered notes what the answer to a deletion said about other processes.
func (l *Locker) homeAnswered(h *hold, others bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := h.line
	if ln.releasing != h { // of an attempt: its answer tells only what it saw
		ln.others = ln.others || others
	} else {
		ln.others, ln.releasing = others, nil
		if ln.answered != nil {
			close(ln.answered)
			ln.answered = nil
		}
	}
	l.retire(ln)
}

// mustStand says whether the caller, first in its process's line, has to let other
// processes go first. Right after a release that is known only from its answer.
func (l *Locker) mustStand(ctx context.Context, ln *line) bool {
	l.mu.Lock()
	yield := ln.yield
	ln.yield = false
	var answered chan struct{}
	if yield && ln.releasing != nil {
		if ln.answered == nil {
			ln.answered = make(chan struct{})
		}
		answered = ln.answered
	}
	l.mu.Unlock()
	if !yield {
		return false
	}
	if answered != nil {
		timer := l.clock.NewTimer(l.timeout)
		defer timer.Stop()
		select {
		case <-answered:
		case <-timer.C():
			return false
		case <-ctx.Done():
			return false
		case <-l.stop:
			return false
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return ln.others
}

// wakeLine passes a wake-up to who competes for the resource. It is false if
// nobody does.
func (l *Locker) wakeLine(resource string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln, known := l.lines[resource]
	if !known || !ln.busy {
		return false
	}
	select {
	case ln.woken <- struct{}{}:
	default:
	}
	return true
}
