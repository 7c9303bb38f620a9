// Package local is what people try first: one mutex per resource inside each
// process. It is exact within the process and worth nothing beyond it, which is
// what the lab shows as soon as a second master runs.
package local

import (
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/locks"
)

// Locker holds the mutexes of one process. Waiters are served in order of arrival.
type Locker struct {
	mu     sync.Mutex
	closed chan struct{}
	queues map[string]*queue // only resources that somebody holds
}

// queue is a held resource with those who wait for it.
type queue struct{ waiters []*waiter }

// waiter is handed the resource by a close of granted, done under Locker.mu.
type waiter struct{ granted chan struct{} }

var _ locks.Locker = (*Locker)(nil)

// New returns a Locker. The spec takes no options.
func New(spec locks.Spec) (*Locker, error) {
	r := spec.Reader()
	r.Variant()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return &Locker{closed: make(chan struct{}), queues: map[string]*queue{}}, nil
}

// Acquire waits in line for the resource.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckResource(resource); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, err)
	}
	l.mu.Lock()
	if l.isClosed() {
		l.mu.Unlock()
		return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
	}
	q, held := l.queues[resource]
	if !held {
		l.queues[resource] = &queue{}
		l.mu.Unlock()
		return &lease{locker: l, resource: resource}, nil
	}
	w := &waiter{granted: make(chan struct{})}
	q.waiters = append(q.waiters, w)
	l.mu.Unlock()

	select {
	case <-w.granted:
		return &lease{locker: l, resource: resource}, nil
	case <-ctx.Done():
		l.abandon(resource, w)
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, ctx.Err())
	case <-l.closed:
		return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
	}
}

// Close ends all waits and counts all leases as lost.
func (l *Locker) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isClosed() {
		close(l.closed)
		l.queues = map[string]*queue{}
	}
	return nil
}

func (l *Locker) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// abandon takes a waiter out of the line, or passes on what it was just granted.
func (l *Locker) abandon(resource string, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.granted:
		l.next(resource)
		return
	default:
	}
	q, ok := l.queues[resource]
	if !ok {
		return
	}
	for i, other := range q.waiters {
		if other == w {
			q.waiters = append(q.waiters[:i], q.waiters[i+1:]...)
			return
		}
	}
}

// next hands the resource on. The caller holds mu and gives up the resource.
func (l *Locker) next(resource string) {
	q, ok := l.queues[resource]
	if !ok {
		return
	}
	if len(q.waiters) == 0 {
		delete(l.queues, resource)
		return
	}
	w := q.waiters[0]
	q.waiters = q.waiters[1:]
	close(w.granted)
}

type lease struct {
	locker   *Locker
	resource string
	once     sync.Once
	err      error
}

// Token says that there is none: a counter of this process would repeat what
// other processes hand out, so it would fence nothing.
func (le *lease) Token() (locks.Token, bool) { return 0, false }

func (le *lease) Expires() (time.Time, bool) { return time.Time{}, false }

func (le *lease) Lost() <-chan struct{} { return le.locker.closed }

func (le *lease) Release(context.Context) error {
	le.once.Do(func() {
		le.locker.mu.Lock()
		defer le.locker.mu.Unlock()
		if le.locker.isClosed() {
			le.err = fmt.Errorf("release %q: %w", le.resource, locks.ErrNotHeld)
			return
		}
		le.locker.next(le.resource)
	})
	return le.err
}
