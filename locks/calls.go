package locks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/locks/clock"
)

// Patience is for how long after the end of its context a call waits for a library that does
// not obey contexts, or that tidies up first.
const Patience = 500 * time.Millisecond

// Calls are what one client has under way. Make it with NewCalls.
type Calls struct {
	open    context.Context //nolint:containedctx // of no call: done when Stop was called
	stop    context.CancelFunc
	mu      sync.Mutex // nothing begins while Stop is called
	running sync.WaitGroup
}

// NewCalls is a client that has nothing under way.
func NewCalls() *Calls {
	c := &Calls{}
	c.open, c.stop = context.WithCancel(context.Background())
	return c
}

// Open is done as soon as Stop was called.
func (c *Calls) Open() context.Context { return c.open }

// Begin has Wait wait until done is called, and gives a context that ends with ctx, and with
// Stop, when its cause is ErrClosed. The error is ErrClosed, after Stop.
func (c *Calls) Begin(ctx context.Context) (both context.Context, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open.Err() != nil {
		return nil, nil, ErrClosed
	}
	c.running.Add(1)
	both, cancel := context.WithCancelCause(ctx)
	stay := context.AfterFunc(c.open, func() { cancel(ErrClosed) })
	return both, func() {
		stay()
		cancel(nil)
		c.running.Done()
	}, nil
}

// Go runs f, unless Stop was called.
func (c *Calls) Go(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open.Err() != nil {
		return false
	}
	c.running.Go(f)
	return true
}

// Stop lets nothing begin any more. It is true the first time.
func (c *Calls) Stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.open.Err() == nil
	c.stop()
	return first
}

// Wait returns when all that has begun has ended.
func (c *Calls) Wait() { c.running.Wait() }

// Acquire is an Acquire by a library's own. It waits for that until ctx is done and Patience
// longer; a lease that comes later is released. The library's context ends with Stop, too.
func (c *Calls) Acquire(
	ctx context.Context, resource string, acquire func(context.Context) (Lease, error),
) (Lease, error) {
	if err := CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	both, done, err := c.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
	defer done()
	var lease Lease
	err = c.beside(ctx, func() (err error) {
		lease, err = acquire(both)
		return err
	}, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
		defer cancel()
		_ = lease.Release(ctx) // its caller has gone: the outcome is unknown
	})
	if err == nil {
		return lease, nil
	}
	if at, has := ctx.Deadline(); has && !clock.System().Now().Before(at) {
		<-ctx.Done() // a server that knows the deadline may be ahead of the context's timer
	}
	cause := ctx.Err()
	if c.open.Err() != nil {
		cause = ErrClosed
	}
	if cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return nil, fmt.Errorf("acquire %q: %w", resource, err)
}

// Release runs a library's release in the same way.
func (c *Calls) Release(ctx context.Context, release func() error) error {
	return c.beside(ctx, release, func() {})
}

// beside runs call in a goroutine of its own. If that outlives its caller and then succeeds, late follows, and the
// error is ErrUnknown; it is ErrClosed if nothing was begun.
func (c *Calls) beside(ctx context.Context, call func() error, late func()) error {
	ended, gone := make(chan error), make(chan struct{})
	if !c.Go(func() {
		err := call()
		select {
		case ended <- err:
		case <-gone:
			if err == nil {
				late()
			}
		}
	}) {
		return ErrClosed
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	if err, came := clock.Await(clock.System(), Patience, ended); came {
		return err
	}
	close(gone)
	return fmt.Errorf("%w: no answer in time: %w", ErrUnknown, ctx.Err())
}
