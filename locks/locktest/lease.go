package locktest

import (
	"context"
	"errors"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// Leases describes a lock whose grants end by themselves.
type Leases struct {
	// Time is the lease time: a client that does not renew may not believe for longer that it holds.
	Time time.Duration
	// Clock is the clock of the first client, and of no other. If it is nil, no holder crashes, and
	// only Expires is checked: for locks that need every client.
	Clock *Clock
	// Margin is how much longer than Time another client may have to wait, for instance until
	// a vote ends at a peer. Zero means ten seconds.
	Margin time.Duration
}

// leaseEnds lets a holder crash, once before and once after its first renewal. It checks
// what the holder is told, and when another client gets the lock.
func leaseEnds(ctx context.Context, t *trial) {
	if t.Leases == nil || t.Leases.Clock == nil {
		begun := clock.System().Now()
		lease := t.acquire(ctx, t.first(), "lease")
		if t.Leases != nil {
			t.end(lease, begun)
		} else if until, has := lease.Expires(); has {
			t.fail("the lease ends at %v, but Subject.Leases does not say what to expect of it", until)
		}
		t.release(ctx, lease)
		return
	}
	if len(t.clients) < 2 {
		t.fail("there is no second client to get what the first one held; leave out Leases.Clock")
	}
	t.crash(ctx, false)
	t.crash(ctx, true)
}

func (t *trial) crash(ctx context.Context, renewed bool) {
	begun := clock.System().Now()
	lease := t.acquire(ctx, t.first(), "lease")
	until := t.end(lease, begun)
	if renewed {
		t.awaitRenewal(ctx, lease, until)
	}
	goOn := t.Leases.Clock.stop()
	defer goOn()
	until = t.end(lease, begun)
	margin := t.Leases.Margin
	if margin == 0 {
		margin = long
	}
	wait, cancel := context.WithTimeout(ctx, t.Leases.Time+margin)
	defer cancel()
	next, err := t.last().Acquire(wait, "lease")
	if err != nil {
		t.fail("acquire what a crashed client held, renewed before %v, with a lease of %v: %w", renewed, t.Leases.Time, err)
	}
	if now := clock.System().Now(); now.Before(until) {
		t.fail("granted %v before the end of which the crashed holder, renewed before %v, had been told",
			until.Sub(now), renewed)
	}
	goOn()
	select {
	case <-lease.Lost():
	case <-ctx.Done():
		t.fail("a holder that was paused for longer than its lease goes on, and Lost is not closed")
	}
	if err := lease.Release(ctx); !errors.Is(err, locks.ErrNotHeld) {
		t.fail("release of a lease that had ended: want ErrNotHeld, got %v", err)
	}
	err = waits(ctx, t.first(), "lease")
	if end, _ := next.Expires(); clock.System().Now().After(end) {
		return // the machine took longer than a lease: the check is inconclusive
	}
	if err != nil {
		t.fail("after the release of a lease that had ended: %w", err)
	}
	t.release(ctx, next)
}

// end returns when the lease expires. That must be after begun, and at most one lease time from now.
func (t *trial) end(lease locks.Lease, begun time.Time) time.Time {
	until, has := lease.Expires()
	longest := clock.System().Now().Add(t.Leases.Time)
	switch {
	case !has:
		t.fail("a lock with leases does not say when this one ends")
	case !until.After(begun):
		t.fail("a lease says that it ended %v before it was asked for", begun.Sub(until))
	case until.After(longest):
		t.fail("a lease of %v says that it ends %v later than it can", t.Leases.Time, until.Sub(longest))
	}
	return until
}

// awaitRenewal waits until the lease is renewed, or is lost at its end because the lock does not renew.
func (t *trial) awaitRenewal(ctx context.Context, lease locks.Lease, until time.Time) {
	for ctx.Err() == nil {
		lost := signals.Closed(lease.Lost())
		now, _ := lease.Expires()
		switch {
		case lost && clock.System().Now().Before(until):
			t.fail("lost before its end, %v", until)
		case lost || now.After(until):
			return
		}
		_ = clock.Sleep(ctx, time.Millisecond)
	}
	t.fail("a lease of %v was neither renewed nor lost: %w", t.Leases.Time, ctx.Err())
}
