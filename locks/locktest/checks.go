package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// short is a wait that should time out while another client holds. A slow machine cannot make a
// correct lock fail it.
const short = 50 * time.Millisecond

// long bounds the wait for a resource that is free, or will be soon.
const long = 10 * time.Second

// critical counts the holders, compares the tokens of consecutive holds, and keeps the first violation.
type critical struct {
	inside atomic.Int64
	token  atomic.Uint64 // of the latest hold with a token
	failed atomic.Pointer[error]
}

func (c *critical) fail(err error) { c.failed.CompareAndSwap(nil, &err) }

func (c *critical) violation() error {
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// pass acquires, checks, and releases. It returns the error of Acquire.
func (c *critical) pass(ctx context.Context, l locks.Locker, resource string, patience time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, patience)
	lease, err := l.Acquire(wait, resource)
	cancel()
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if n := c.inside.Add(1); n != 1 {
		c.fail(fmt.Errorf("%d holders at once", n))
	}
	if token, has := lease.Token(); has {
		if before := c.token.Swap(uint64(token)); uint64(token) <= before {
			c.fail(fmt.Errorf("a hold has token %d, and the one before had token %d", token, before))
		}
	}
	_ = clock.Sleep(ctx, 200*time.Microsecond) // gives a second holder time to appear
	c.inside.Add(-1)
	if err := lease.Release(ctx); err != nil {
		c.fail(fmt.Errorf("release: %w", err))
	}
	return nil
}

func exclusionAcrossClients(ctx context.Context, t *trial) {
	t.queue(ctx, new(critical), t.clients, "contended", 2, 15)
}

func exclusionWithinClient(ctx context.Context, t *trial) {
	t.queue(ctx, new(critical), t.clients[:1], "contended", 8, 10)
}

// queue makes perClient callers of each client acquire the same resource, rounds times each.
func (t *trial) queue(
	ctx context.Context, c *critical, clients []locks.Locker, resource string, perClient, rounds int,
) {
	var wg sync.WaitGroup
	for _, l := range clients {
		for range perClient {
			wg.Go(func() {
				for range rounds {
					if c.failed.Load() != nil {
						return
					}
					if err := c.pass(ctx, l, resource, deadline); err != nil {
						c.fail(err)
					}
				}
			})
		}
	}
	wg.Wait()
	t.must(c.violation())
}

func independentResources(ctx context.Context, t *trial) {
	a := t.acquire(ctx, t.first(), "independent-a")
	t.release(ctx, t.acquire(ctx, t.last(), "independent-b"))
	t.release(ctx, a)
}

func handover(ctx context.Context, t *trial) {
	holder, waiter := t.first(), t.last()
	for range 5 {
		lease := t.acquire(ctx, holder, "handover")
		var released atomic.Bool
		got := make(chan error, 1)
		go func() {
			next, err := waiter.Acquire(ctx, "handover")
			if err == nil {
				if !released.Load() {
					err = errors.New("granted to the waiter before the holder released")
				}
				err = errors.Join(err, next.Release(ctx))
			}
			got <- err
		}()
		_ = clock.Sleep(ctx, 5*time.Millisecond)
		released.Store(true)
		t.release(ctx, lease)
		if err := <-got; err != nil {
			t.fail("waiter: %w", err)
		}
		holder, waiter = waiter, holder
	}
}

func releaseTwice(ctx context.Context, t *trial) {
	first := t.acquire(ctx, t.first(), "twice")
	t.release(ctx, first)
	second := t.acquire(ctx, t.last(), "twice")
	t.release(ctx, first) // answers as the first did
	t.must(waits(ctx, t.first(), "twice"))
	t.release(ctx, second)
}

// waits returns an error unless the client waits in vain for a resource that another one holds.
func waits(ctx context.Context, l locks.Locker, resource string) error {
	wait, cancel := context.WithTimeout(ctx, short)
	defer cancel()
	intruder, err := l.Acquire(wait, resource)
	if err == nil {
		return errors.Join(fmt.Errorf("%q is granted while another one holds", resource), intruder.Release(ctx))
	}
	return checkGaveUp(err)
}

// checkGaveUp checks the error of a wait that its context ended.
func checkGaveUp(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the error of a wait ended by its context does not wrap the context's: %w", err)
	}
	if !errors.Is(err, locks.ErrNotAcquired) && !errors.Is(err, locks.ErrUnknown) {
		return fmt.Errorf("the error of a wait ended by its context is neither ErrNotAcquired nor ErrUnknown: %w", err)
	}
	return nil
}

func lostStaysOpen(ctx context.Context, t *trial) {
	lease := t.acquire(ctx, t.first(), "lost")
	if signals.Closed(lease.Lost()) {
		t.fail("lost while it was held")
	}
	t.release(ctx, lease)
	if signals.Closed(lease.Lost()) {
		t.fail("Release closed Lost")
	}
}

func givingUp(ctx context.Context, t *trial) {
	lease := t.acquire(ctx, t.first(), "give-up")
	for _, l := range t.clients {
		t.must(waits(ctx, l, "give-up"))
	}
	t.release(ctx, lease)
	t.allCanAcquire(ctx, "give-up")
}

func (t *trial) allCanAcquire(ctx context.Context, resource string) {
	for _, l := range t.clients {
		t.release(ctx, t.acquire(ctx, l, resource))
	}
}

func doneContext(ctx context.Context, t *trial) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	lease, err := t.first().Acquire(done, "done-context")
	if err == nil {
		_ = lease.Release(ctx) // so that only this failure is reported
		t.fail("acquired with a context that was done")
	}
	t.must(checkGaveUp(err))
	t.release(ctx, t.acquire(ctx, t.last(), "done-context"))
}

// churn ends waits at many different moments, the worst ones included, and then
// checks that every client can still acquire.
func churn(ctx context.Context, t *trial) {
	var c critical
	var wg sync.WaitGroup
	for i, l := range t.clients {
		for j := range 3 {
			wg.Go(func() {
				for k := range 30 {
					patience := time.Duration((i*31+j*17+k*7)%40) * 250 * time.Microsecond
					err := c.pass(ctx, l, "churn", patience)
					if err != nil && checkGaveUp(err) != nil {
						c.fail(checkGaveUp(err))
					}
				}
			})
		}
	}
	wg.Wait()
	t.must(c.violation())
	t.allCanAcquire(ctx, "churn")
}

// tokensGrow checks grants to clients in turn, and to clients that queue.
func tokensGrow(ctx context.Context, t *trial) {
	var c critical
	for i := range 4 * len(t.clients) {
		if err := c.pass(ctx, t.clients[i%len(t.clients)], "tokens", deadline); err != nil {
			c.fail(err)
		}
	}
	t.queue(ctx, &c, t.clients, "tokens", 4, 5)
}

func badNames(ctx context.Context, t *trial) {
	for _, name := range []string{"", strings.Repeat("x", locks.ResourceBytesMax+1), "a\nb", "a\xff"} {
		_, err := t.first().Acquire(ctx, name)
		if !errors.Is(err, locks.ErrInvalid) || !errors.Is(err, locks.ErrNotAcquired) {
			t.fail("resource name %.10q: want ErrNotAcquired and ErrInvalid, got %v", name, err)
		}
	}
	t.release(ctx, t.acquire(ctx, t.first(), strings.Repeat("x", locks.ResourceBytesMax)))
}

func closeFrees(ctx context.Context, t *trial) {
	holder, other := t.first(), t.last()
	lease := t.acquire(ctx, holder, "close")
	waiting := make(chan error, 1)
	go func() {
		_, err := holder.Acquire(ctx, "close")
		waiting <- err
	}()
	if err := holder.Close(); err != nil {
		t.fail("close: %w", err)
	}
	if err := <-waiting; err == nil {
		t.fail("a wait ended in a grant although its client was closed")
	}
	select {
	case <-lease.Lost():
	case <-ctx.Done():
		t.fail("Close did not close Lost of a lease that was held")
	}
	if other == holder || t.NeedsAll {
		return
	}
	within := t.CloseFreesWithin
	if within == 0 {
		within = long
	}
	wait, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	next, err := other.Acquire(wait, "close")
	if err != nil {
		t.fail("acquire what a closed client held: %w", err)
	}
	t.release(ctx, next)
}

func closedRefuses(ctx context.Context, t *trial) {
	for range 2 {
		if err := t.first().Close(); err != nil {
			t.fail("close: %w", err)
		}
	}
	if _, err := t.first().Acquire(ctx, "closed"); !errors.Is(err, locks.ErrClosed) {
		t.fail("acquire through a closed client: want ErrClosed, got %v", err)
	}
}
