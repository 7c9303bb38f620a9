// Package local is what people try first: one mutex per resource inside each
// process. It is exact within the process and worth nothing beyond it, which is
// what the lab shows as soon as a second master runs.
package local

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
)

// Locker holds the mutexes of one process. Waiters are served in order of arrival.
type Locker struct {
	mu     sync.Mutex
	closed chan struct{}
	queues map[string][]waiter // only of resources that somebody holds
}

// waiter is a claim that waits. It is granted by its close, done under Locker.mu.
type waiter chan struct{}

var _ locks.Locker = (*Locker)(nil)

// New returns a Locker.
func New() *Locker { return &Locker{closed: make(chan struct{}), queues: map[string][]waiter{}} }

// Acquire waits in line for the resource.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	l.mu.Lock()
	if signals.Closed(l.closed) {
		l.mu.Unlock()
		return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
	}
	queue, held := l.queues[resource]
	if !held {
		l.queues[resource] = nil
		l.mu.Unlock()
		return &lease{locker: l, resource: resource}, nil
	}
	w := make(waiter)
	l.queues[resource] = append(queue, w)
	l.mu.Unlock()

	select {
	case <-w:
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
	if !signals.Closed(l.closed) {
		close(l.closed)
		l.queues = map[string][]waiter{}
	}
	return nil
}

// abandon takes a waiter out of the line, or passes on what it was just granted.
func (l *Locker) abandon(resource string, w waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.queues[resource], w); i >= 0 {
		l.queues[resource] = slices.Delete(l.queues[resource], i, i+1)
		return
	}
	l.next(resource)
}

// next hands the resource on. The caller holds mu and gives up the resource.
func (l *Locker) next(resource string) {
	queue := l.queues[resource]
	if len(queue) == 0 {
		delete(l.queues, resource)
		return
	}
	close(queue[0])
	l.queues[resource] = queue[1:]
}

type lease struct {
	locker   *Locker
	resource string
	release  locks.ReleaseOnce
}

// Token says that there is none: a counter of this process would repeat what
// other processes hand out, so it would fence nothing.
func (le *lease) Token() (locks.Token, bool) { return 0, false }

func (le *lease) Expires() (time.Time, bool) { return time.Time{}, false }

func (le *lease) Lost() <-chan struct{} { return le.locker.closed }

func (le *lease) Release(context.Context) error {
	return le.release.Do(le.resource, func() error {
		le.locker.mu.Lock()
		defer le.locker.mu.Unlock()
		if signals.Closed(le.locker.closed) {
			return locks.ErrNotHeld
		}
		le.locker.next(le.resource)
		return nil
	})
}
