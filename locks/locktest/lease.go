package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
)

// Leases describes a lock whose grants end by themselves.
type Leases struct {
	// Time is the lease time: nobody may believe that he holds for longer without a
	// renewal.
	Time time.Duration
	// Clock is what the first of the clients runs on, and only that one. Nil if nobody
	// can get anything without that client: then only what leases say is looked at.
	Clock *Clock
	// Margin is how much longer than Time others may have to wait, for instance for
	// the end of a vote at a peer. Zero means ten seconds.
	Margin time.Duration
}

// leaseEnds lets a holder crash, once before and once after its first renewal, and
// looks at what the holder is told and when somebody else gets the lock.
func leaseEnds(ctx context.Context, s Subject, clients []locks.Locker) error {
	if s.Leases == nil {
		return hasNoLease(ctx, clients[0])
	}
	if s.Leases.Clock == nil {
		return s.Leases.look(ctx, clients[0])
	}
	if len(clients) < 2 {
		return errors.New("there is no second client to get what the first one held; leave out Leases.Clock")
	}
	for _, renewed := range []bool{false, true} {
		if err := s.Leases.crash(ctx, clients[0], clients[len(clients)-1], renewed); err != nil {
			return fmt.Errorf("holder crashes, renewed before %v: %w", renewed, err)
		}
	}
	return nil
}

func hasNoLease(ctx context.Context, l locks.Locker) error {
	lease, err := l.Acquire(ctx, "lease")
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if until, has := lease.Expires(); has {
		return fmt.Errorf("the lease ends at %v, but Subject.Leases does not say what to expect of it", until)
	}
	return lease.Release(ctx)
}

func (s *Leases) look(ctx context.Context, l locks.Locker) error {
	begun := clock.System().Now()
	lease, err := l.Acquire(ctx, "lease")
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	if _, err := s.end(lease, begun); err != nil {
		return err
	}
	return lease.Release(ctx)
}

func (s *Leases) crash(ctx context.Context, holder, other locks.Locker, renewed bool) error {
	begun := clock.System().Now()
	lease, err := holder.Acquire(ctx, "lease")
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	until, err := s.end(lease, begun)
	if err != nil {
		return err
	}
	if renewed {
		if err := s.awaitRenewal(ctx, lease, until); err != nil {
			return err
		}
	}
	s.Clock.stop()
	defer s.Clock.goOn()
	if until, err = s.end(lease, begun); err != nil {
		return err
	}
	margin := s.Margin
	if margin == 0 {
		margin = 10 * time.Second
	}
	waitCtx, cancel := context.WithTimeout(ctx, s.Time+margin)
	defer cancel()
	next, err := other.Acquire(waitCtx, "lease")
	if err != nil {
		return fmt.Errorf("acquire what a crashed client held with a lease of %v: %w", s.Time, err)
	}
	if now := clock.System().Now(); now.Before(until) {
		return fmt.Errorf("granted %v before the end of which the crashed holder had been told", until.Sub(now))
	}
	s.Clock.goOn()
	select {
	case <-lease.Lost():
	case <-ctx.Done():
		return errors.New("a holder that was paused for longer than its lease goes on, and Lost is not closed")
	}
	if err := lease.Release(ctx); !errors.Is(err, locks.ErrNotHeld) {
		return fmt.Errorf("release of a lease that had ended: want ErrNotHeld, got %w", errors.Join(err))
	}
	err = mustWait(ctx, holder, "lease")
	if end, _ := next.Expires(); clock.System().Now().After(end) {
		return nil // this machine took longer than a lease: nothing can be said
	}
	if err != nil {
		return fmt.Errorf("after the release of a lease that had ended: %w", err)
	}
	return next.Release(ctx)
}

// end is what the lease says of its end: after it was asked for, and not further away
// than a whole lease.
func (s *Leases) end(lease locks.Lease, begun time.Time) (time.Time, error) {
	until, has := lease.Expires()
	longest := clock.System().Now().Add(s.Time)
	switch {
	case !has:
		return until, errors.New("a lock with leases does not say when this one ends")
	case !until.After(begun):
		return until, fmt.Errorf("a lease says that it ended %v before it was asked for", begun.Sub(until))
	case until.After(longest):
		return until, fmt.Errorf("a lease of %v says that it ends %v later than it can", s.Time, until.Sub(longest))
	}
	return until, nil
}

// awaitRenewal waits until the lease moves its end, or is lost at its end because the
// lock renews nothing.
func (s *Leases) awaitRenewal(ctx context.Context, lease locks.Lease, until time.Time) error {
	for ctx.Err() == nil {
		lost := isClosed(lease.Lost())
		now, _ := lease.Expires()
		switch {
		case lost && clock.System().Now().Before(until):
			return fmt.Errorf("lost before its end, %v", until)
		case lost || now.After(until):
			return nil
		}
		pause(time.Millisecond)
	}
	return fmt.Errorf("a lease of %v was neither renewed nor lost: %w", s.Time, ctx.Err())
}
