// Package local is one mutex per resource inside each process. It excludes callers of that
// process and no others, as the lab shows once a second master runs.
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
	closed  context.Context //nolint:containedctx // Close ends it
	close   context.CancelFunc
	mutexes sync.Map // resource -> mutex
}

// mutex is a channel of capacity 1 that is full while it is held. Go serves blocked senders in order.
type mutex chan struct{}

var _ locks.Locker = (*Locker)(nil)

// New returns a Locker.
func New() *Locker {
	l := &Locker{}
	l.closed, l.close = context.WithCancel(context.Background())
	return l
}

// Acquire waits in line for the resource.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	m, _ := l.mutexes.LoadOrStore(resource, make(mutex, 1))
	if l.closed.Err() == nil {
		select {
		case m.(mutex) <- struct{}{}:
			return &lease{locker: l, resource: resource, mutex: m.(mutex)}, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, ctx.Err())
		case <-l.closed.Done():
		}
	}
	return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
}

// Close ends all waits and counts all leases as lost.
func (l *Locker) Close() error {
	l.close()
	return nil
}

type lease struct {
	locker   *Locker
	resource string
	mutex    mutex
	release  locks.ReleaseOnce
}

// Token returns false: a counter of this process would repeat the tokens of others.
func (le *lease) Token() (locks.Token, bool) { return 0, false }

func (le *lease) Expires() (time.Time, bool) { return time.Time{}, false }

func (le *lease) Lost() <-chan struct{} { return le.locker.closed.Done() }

func (le *lease) Release(context.Context) error {
	return le.release.Do(le.resource, func() error {
		if le.locker.closed.Err() != nil {
			return locks.ErrNotHeld
		}
		<-le.mutex
		return nil
	})
}
