package locktest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
)

// short is a wait that is meant to run out while another client holds. Its length
// decides nothing: a lock that grants too early is caught however long it is.
const short = 50 * time.Millisecond

// critical counts who is inside and keeps the first violation.
type critical struct {
	inside atomic.Int64
	failed atomic.Pointer[error]
}

func (c *critical) fail(err error) { c.failed.CompareAndSwap(nil, &err) }

func (c *critical) err() error {
	if p := c.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// pass acquires, looks around, and releases.
func (c *critical) pass(ctx context.Context, l locks.Locker, resource string) {
	lease, err := l.Acquire(ctx, resource)
	if err != nil {
		c.fail(fmt.Errorf("acquire: %w", err))
		return
	}
	if n := c.inside.Add(1); n != 1 {
		c.fail(fmt.Errorf("%d holders at once", n))
	}
	pause(200 * time.Microsecond) // gives an intruder time to show
	c.inside.Add(-1)
	if err := lease.Release(ctx); err != nil {
		c.fail(fmt.Errorf("release: %w", err))
	}
}

// pause holds the lock for a moment: work, not synchronization.
func pause(d time.Duration) {
	t := clock.System().NewTimer(d)
	defer t.Stop()
	<-t.C()
}

func exclusionAcrossClients(ctx context.Context, _ Subject, clients []locks.Locker) error {
	return contend(ctx, clients, 2, 15)
}

func exclusionWithinClient(ctx context.Context, _ Subject, clients []locks.Locker) error {
	return contend(ctx, clients[:1], 8, 10)
}

func contend(ctx context.Context, clients []locks.Locker, perClient, rounds int) error {
	var c critical
	var wg sync.WaitGroup
	for _, l := range clients {
		for range perClient {
			wg.Go(func() {
				for range rounds {
					if c.err() != nil {
						return
					}
					c.pass(ctx, l, "contended")
				}
			})
		}
	}
	wg.Wait()
	return c.err()
}

func independentResources(ctx context.Context, _ Subject, clients []locks.Locker) error {
	a, err := clients[0].Acquire(ctx, "independent-a")
	if err != nil {
		return fmt.Errorf("acquire a: %w", err)
	}
	b, err := clients[len(clients)-1].Acquire(ctx, "independent-b")
	if err != nil {
		return fmt.Errorf("acquire b while another client holds a: %w", err)
	}
	return errors.Join(a.Release(ctx), b.Release(ctx))
}

func handover(ctx context.Context, _ Subject, clients []locks.Locker) error {
	holder, waiter := clients[0], clients[len(clients)-1]
	for range 5 {
		lease, err := holder.Acquire(ctx, "handover")
		if err != nil {
			return fmt.Errorf("acquire: %w", err)
		}
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
		pause(5 * time.Millisecond)
		released.Store(true)
		if err := lease.Release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
		if err := <-got; err != nil {
			return fmt.Errorf("waiter: %w", err)
		}
		holder, waiter = waiter, holder
	}
	return nil
}

func releaseTwice(ctx context.Context, _ Subject, clients []locks.Locker) error {
	first, err := clients[0].Acquire(ctx, "twice")
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if err := first.Release(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	second, err := clients[len(clients)-1].Acquire(ctx, "twice")
	if err != nil {
		return fmt.Errorf("acquire again: %w", err)
	}
	if err := first.Release(ctx); err != nil {
		return fmt.Errorf("a second release answered otherwise than the first: %w", err)
	}
	if err := mustWait(ctx, clients[0], "twice"); err != nil {
		return fmt.Errorf("after a second release of an old lease: %w", err)
	}
	return second.Release(ctx)
}

// mustWait tries to acquire what somebody else holds.
func mustWait(ctx context.Context, l locks.Locker, resource string) error {
	tryCtx, cancel := context.WithTimeout(ctx, short)
	defer cancel()
	intruder, err := l.Acquire(tryCtx, resource)
	if err == nil {
		return errors.Join(errors.New("granted while another one holds"), intruder.Release(ctx))
	}
	return checkGaveUp(err)
}

// checkGaveUp looks at the error of a wait that its context ended.
func checkGaveUp(err error) error {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the error of a wait ended by its context does not wrap the context's: %w", err)
	}
	if !errors.Is(err, locks.ErrNotAcquired) && !errors.Is(err, locks.ErrUnknown) {
		return fmt.Errorf("the error of a wait ended by its context is neither ErrNotAcquired nor ErrUnknown: %w", err)
	}
	return nil
}

func lostStaysOpen(ctx context.Context, _ Subject, clients []locks.Locker) error {
	lease, err := clients[0].Acquire(ctx, "lost")
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if isClosed(lease.Lost()) {
		return errors.New("lost while it was held")
	}
	if until, ok := lease.Expires(); ok && until.IsZero() {
		return errors.New("a lease with a lease time expires at the zero time")
	}
	if err := lease.Release(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if isClosed(lease.Lost()) {
		return errors.New("Release closed Lost")
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func givingUp(ctx context.Context, _ Subject, clients []locks.Locker) error {
	lease, err := clients[0].Acquire(ctx, "give-up")
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	for _, l := range clients {
		if err := mustWait(ctx, l, "give-up"); err != nil {
			return err
		}
	}
	if err := lease.Release(ctx); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	for _, l := range clients {
		next, err := l.Acquire(ctx, "give-up")
		if err != nil {
			return fmt.Errorf("acquire after others gave up: %w", err)
		}
		if err := next.Release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	return nil
}

func doneContext(ctx context.Context, _ Subject, clients []locks.Locker) error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	lease, err := clients[0].Acquire(done, "done-context")
	if err == nil {
		return errors.Join(errors.New("acquired with a context that was done"), lease.Release(ctx))
	}
	if err := checkGaveUp(err); err != nil {
		return err
	}
	next, err := clients[len(clients)-1].Acquire(ctx, "done-context")
	if err != nil {
		return fmt.Errorf("acquire after that: %w", err)
	}
	return next.Release(ctx)
}

// churn lets waits end at many different moments, the worst ones included, and
// then asks whether everybody can still acquire.
func churn(ctx context.Context, _ Subject, clients []locks.Locker) error {
	var c critical
	var wg sync.WaitGroup
	for i, l := range clients {
		for j := range 3 {
			wg.Go(func() {
				for k := range 30 {
					patience := time.Duration((i*31+j*17+k*7)%40) * 250 * time.Microsecond
					tryCtx, cancel := context.WithTimeout(ctx, patience)
					lease, err := l.Acquire(tryCtx, "churn")
					cancel()
					if err != nil {
						if err := checkGaveUp(err); err != nil {
							c.fail(err)
						}
						continue
					}
					if n := c.inside.Add(1); n != 1 {
						c.fail(fmt.Errorf("%d holders at once", n))
					}
					c.inside.Add(-1)
					if err := lease.Release(ctx); err != nil {
						c.fail(fmt.Errorf("release: %w", err))
					}
				}
			})
		}
	}
	wg.Wait()
	if err := c.err(); err != nil {
		return err
	}
	for i, l := range clients {
		lease, err := l.Acquire(ctx, "churn")
		if err != nil {
			return fmt.Errorf("client %d can no longer acquire: %w", i, err)
		}
		if err := lease.Release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	return nil
}

func tokensGrow(ctx context.Context, _ Subject, clients []locks.Locker) error {
	var last locks.Token
	for i := range 4 * len(clients) {
		lease, err := clients[i%len(clients)].Acquire(ctx, "tokens")
		if err != nil {
			return fmt.Errorf("acquire: %w", err)
		}
		if token, has := lease.Token(); has {
			if token <= last {
				return fmt.Errorf("grant %d has token %d after token %d", i+1, token, last)
			}
			last = token
		}
		if err := lease.Release(ctx); err != nil {
			return fmt.Errorf("release: %w", err)
		}
	}
	return nil
}

func badNames(ctx context.Context, _ Subject, clients []locks.Locker) error {
	for _, name := range []string{"", strings.Repeat("x", locks.ResourceBytesMax+1), "a\nb"} {
		_, err := clients[0].Acquire(ctx, name)
		if !errors.Is(err, locks.ErrInvalid) || !errors.Is(err, locks.ErrNotAcquired) {
			return fmt.Errorf("resource name %.10q: want ErrNotAcquired and ErrInvalid, got %w", name, errors.Join(err))
		}
	}
	lease, err := clients[0].Acquire(ctx, strings.Repeat("x", locks.ResourceBytesMax))
	if err != nil {
		return fmt.Errorf("the longest name: %w", err)
	}
	return lease.Release(ctx)
}

func closeFrees(ctx context.Context, s Subject, clients []locks.Locker) error {
	holder, other := clients[0], clients[len(clients)-1]
	lease, err := holder.Acquire(ctx, "close")
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := holder.Acquire(ctx, "close")
		waiting <- err
	}()
	if err := holder.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := <-waiting; err == nil {
		return errors.New("a wait ended in a grant although its client was closed")
	}
	select {
	case <-lease.Lost():
	case <-ctx.Done():
		return errors.New("Close did not close Lost of a lease that was held")
	}
	if other == holder {
		return nil
	}
	within := s.CloseFreesWithin
	if within == 0 {
		within = 10 * time.Second
	}
	waitCtx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	next, err := other.Acquire(waitCtx, "close")
	if err != nil {
		return fmt.Errorf("acquire what a closed client held: %w", err)
	}
	return next.Release(ctx)
}

func closedRefuses(ctx context.Context, _ Subject, clients []locks.Locker) error {
	if err := clients[0].Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := clients[0].Close(); err != nil {
		return fmt.Errorf("close twice: %w", err)
	}
	if _, err := clients[0].Acquire(ctx, "closed"); !errors.Is(err, locks.ErrClosed) {
		return fmt.Errorf("acquire through a closed client: want ErrClosed, got %w", errors.Join(err))
	}
	return nil
}
