package locks

import (
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/locks/clock"
)

// Patience is for how long after the end of its context a call waits for a library that does
// not obey contexts, or that tidies up first.
const Patience = 500 * time.Millisecond

// Calls are what one client has under way in a library. The zero value is ready.
type Calls struct {
	mu      sync.Mutex
	stopped bool
	running sync.WaitGroup
}

// Go runs f, unless Stop was called.
func (c *Calls) Go(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.running.Go(f)
	return true
}

// Stop lets nothing begin any more. It is true the first time.
func (c *Calls) Stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := !c.stopped
	c.stopped = true
	return first
}

// Wait returns when all that Go began has ended.
func (c *Calls) Wait() { c.running.Wait() }

// Acquire runs a library's acquisition, and waits for it until ctx is done and Patience
// longer. A lease that comes later is released.
func (c *Calls) Acquire(ctx context.Context, acquire func() (Lease, error)) (Lease, error) {
	var lease Lease
	err := c.beside(ctx, func() (err error) {
		lease, err = acquire()
		return err
	}, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
		defer cancel()
		_ = lease.Release(ctx) // its caller has gone: the outcome is unknown
	})
	if err != nil {
		return nil, err
	}
	return lease, nil
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
