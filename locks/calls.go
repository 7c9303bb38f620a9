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
func (c *Calls) Acquire(ctx context.Context, acquire func() (Lease, error)) (lease Lease, err error) {
	type outcome struct {
		lease Lease
		err   error
	}
	o, err := beside(ctx, c, func() outcome {
		lease, err := acquire()
		return outcome{lease, err}
	}, func(o outcome) {
		if o.err == nil {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Patience)
			defer cancel()
			_ = o.lease.Release(ctx) // its caller has gone: the outcome is unknown
		}
	})
	return o.lease, errors.Join(o.err, err)
}

// Release runs a library's release in the same way.
func (c *Calls) Release(ctx context.Context, release func() error) error {
	failed, err := beside(ctx, c, release, func(error) {})
	return errors.Join(failed, err)
}

// beside runs call in a goroutine of its own. If that outlives its caller, late gets what came of
// it, and the error is ErrUnknown; it is ErrClosed if nothing was begun.
func beside[T any](ctx context.Context, c *Calls, call func() T, late func(T)) (result T, err error) {
	ended, gone := make(chan T), make(chan struct{})
	begun := c.Go(func() {
		result := call()
		select {
		case ended <- result:
		case <-gone:
			late(result)
		}
	})
	if !begun {
		return result, ErrClosed
	}
	select {
	case result = <-ended:
		return result, nil
	case <-ctx.Done():
	}
	if result, came := clock.Await(clock.System(), Patience, ended); came {
		return result, nil
	}
	close(gone)
	return result, fmt.Errorf("%w: no answer in time: %w", ErrUnknown, ctx.Err())
}
