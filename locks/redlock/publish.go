package redlock

import (
	"context"
	"hash/fnv"
	"slices"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
)

// This file is the option wake=publish, which the documents do not have. The waiters of a
// process queue inside it, and its first waits for other processes: one instance, the home of a
// resource, keeps the queue of the processes that wait for it, and the release script there
// wakes the first. Nothing of it matters for exclusion: home is asked like every other instance,
// and a waiter that misses a wake-up tries again after a while.

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

// restPublished is rest with Publish.
func (l *Locker) restPublished(ctx context.Context, q *queue, attempt int, enrolled *bool) error {
	came, err := l.enrol(ctx, q, enrolled)
	switch {
	case err != nil:
		return err
	case came == homeAway:
		return l.pause(ctx, l.delay())
	case came == lockFree:
		// The vote was split, or the lock has just been released.
		return l.pause(ctx, l.draw(0, min(time.Millisecond<<min(attempt, 10), l.options.Delay)))
	}
	return nil
}

// homeOf picks the home of a resource: the same for all clients, whatever process
// they are in, hence a hash without a seed.
func homeOf(resource string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(resource)) // a hash never fails
	return int(h.Sum64() % uint64(n))
}

// waiting is what came of waiting in the queue at home.
type waiting uint8

const (
	homeAway waiting = iota // home is away
	lockFree                // the lock is free
	waited                  // woken, or it is time to look
)

// enrol gets into the queue at home and waits there. enrolled tells whether the
// client may be in that queue when enrol returns.
func (l *Locker) enrol(ctx context.Context, q *queue, enrolled *bool) (waiting, error) {
	select {
	case <-q.woken: // while the last attempt was under way
		*enrolled = false
		return waited, nil
	default:
	}
	if ok, err := l.subscriptions[q.home].listen(ctx); !ok {
		return homeAway, err
	}
	keepMS := 8 * 4 * l.options.Delay.Milliseconds() // well beyond the longest wait below
	reply := make(chan int64, 1)                     // ms left, -1, or enrolFailed
	l.instances[q.home].send(q.lane, &command{
		script:   l.scripts.enrol,
		args:     l.scripts.enrol.call(2, keyPrefix+q.resource, waitPrefix+q.resource, l.channel, max(keepMS, 1000)),
		deadline: l.now() + l.timeout,
		to: receiverFunc(func(value any) {
			left, ok := value.(int64)
			if !ok {
				left = enrolFailed
			}
			reply <- left
		}),
		instance: q.home,
	})
	*enrolled = true
	left, came, err := await(ctx, l, l.timeout, reply)
	switch {
	case !came || left == enrolFailed:
		return homeAway, err
	case left < 0:
		*enrolled = false
		return lockFree, nil
	}
	patience := l.draw(2*l.options.Delay, 4*l.options.Delay)
	if left > 0 { // the holder's lease may run out before that
		patience = min(patience, time.Duration(left)*time.Millisecond+l.draw(0, l.options.Delay))
	}
	if _, came, err = await(ctx, l, patience, q.woken); came {
		*enrolled = false
		l.mu.Lock()
		q.others = true // until an answer says otherwise
		l.mu.Unlock()
	}
	return waited, err
}

const enrolFailed = -2

// withdraw leaves the queue at home, unless somebody else of this process can use
// the place in it.
func (l *Locker) withdraw(q *queue) {
	l.mu.Lock()
	wanted := len(q.waiters) > 0 && !l.closing
	l.mu.Unlock()
	if !wanted {
		l.sendLeave(q.resource, q.home)
	}
}

func (l *Locker) sendLeave(resource string, home int) {
	l.instances[home].send(laneOf(l.hashSeed, resource), &command{
		script:   l.scripts.leave,
		args:     l.scripts.leave.call(2, keyPrefix+resource, waitPrefix+resource, l.channel, resource),
		deadline: l.now() + l.timeout,
		to:       receiverFunc(func(any) {}),
		instance: home,
	})
}

// serveOwn makes the deletion leave other processes asleep, because this one goes
// on with its own next waiter. It is called before the deletion.
func (le *lease) serveOwn() {
	if le.homeArgs != nil {
		le.homeArgs[6] = "0"
	}
}

func (le *lease) hasToldHome() bool {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.toldHome
}
