// Package none grants every acquisition at once. It is the control of every comparison:
// a workload that shows no violation under it tests nothing.
package none

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/locks"
)

// Locker grants everything.
type Locker struct{ closed atomic.Bool }

var _ locks.Locker = (*Locker)(nil)

// New returns a Locker.
func New() *Locker { return &Locker{} }

// Acquire grants at once; it fails only when ctx is done or the Locker is closed.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	if l.closed.Load() {
		return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
	}
	return lease{}, nil
}

// Close makes later calls of Acquire fail.
func (l *Locker) Close() error {
	l.closed.Store(true)
	return nil
}

type lease struct{}

func (lease) Token() (locks.Token, bool)    { return 0, false }
func (lease) Expires() (time.Time, bool)    { return time.Time{}, false }
func (lease) Lost() <-chan struct{}         { return nil }
func (lease) Release(context.Context) error { return nil }
