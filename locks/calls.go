package locks

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/locks/clock"
)

// Patience is how long after its context has ended a call still waits for a library.
const Patience = 500 * time.Millisecond

// Calls are the calls of one client that have not returned. Make it with NewCalls.
type Calls struct {
	open    context.Context //nolint:containedctx // belongs to no call; Stop ends it
	stop    context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex                            // no call begins while Stop runs
	ends map[*context.CancelCauseFunc]struct{} // of the calls: cheaper than to hang each below open
}

// NewCalls returns an empty Calls.
func NewCalls() *Calls {
	c := &Calls{ends: map[*context.CancelCauseFunc]struct{}{}}
	c.open, c.stop = context.WithCancel(context.Background())
	return c
}

// Open returns a context that Stop ends.
func (c *Calls) Open() context.Context { return c.open }

// Begin registers a call, for which Wait waits until done is called. The returned context ends with
// ctx, or at Stop with the cause ErrClosed. After Stop, Begin returns ErrClosed.
func (c *Calls) Begin(ctx context.Context) (both context.Context, done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open.Err() != nil {
		return nil, nil, ErrClosed
	}
	c.running.Add(1)
	both, cancel := context.WithCancelCause(ctx)
	c.ends[&cancel] = struct{}{}
	return both, func() {
		c.mu.Lock()
		delete(c.ends, &cancel)
		c.mu.Unlock()
		cancel(nil)
		c.Leave()
	}, nil
}

// Enter has Wait wait for a Leave. It returns false after Stop.
func (c *Calls) Enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open.Err() != nil {
		return false
	}
	c.running.Add(1)
	return true
}

// Leave ends what Enter began.
func (c *Calls) Leave() { c.running.Done() }

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

// Stop refuses new calls from now on. It returns true the first time.
func (c *Calls) Stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.open.Err() == nil
	c.stop()
	for end := range c.ends {
		(*end)(ErrClosed)
	}
	return first
}

// Wait returns when all calls have ended.
func (c *Calls) Wait() { c.running.Wait() }

// Acquire runs a library's acquire, and waits for it until Patience after the end of ctx. A lease
// that comes later is released. The context of acquire ends at Stop, too.
func (c *Calls) Acquire(
	ctx context.Context, resource string, acquire func(context.Context) (Lease, error),
) (Lease, error) {
	return c.Direct(ctx, resource, func(both context.Context) (Lease, error) {
		var lease Lease // of the goroutine, until beside returns nil
		err := c.beside(ctx, func() (err error) {
			lease, err = acquire(both)
			return err
		}, func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
			defer cancel()
			_ = lease.Release(ctx) // the caller no longer waits for the outcome
		})
		if err != nil {
			return nil, err
		}
		return lease, nil
	})
}

// Direct is Acquire in the caller's goroutine: it returns when acquire does, which has to bound that.
func (c *Calls) Direct(
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
	lease, err := acquire(both)
	if err == nil {
		return lease, nil
	}
	if at, has := ctx.Deadline(); has && !clock.System().Now().Before(at) {
		<-ctx.Done() // a server that was told the deadline may answer before the context's timer fires
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

// beside runs call in its own goroutine, and returns ErrClosed after Stop. It returns ErrUnknown
// if the call lasts longer than Patience after ctx, and runs late if that call then succeeds.
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
