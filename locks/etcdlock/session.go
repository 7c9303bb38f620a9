package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"locklab/locks"
	"locklab/locks/clock"
)

// session is one lease at etcd. The Locker's mutex guards what changes.
type session struct {
	id      clientv3.LeaseID
	recipe  *concurrency.Session // never renews: see keep
	until   time.Time            // it surely lives until then
	users   int                  // claims on it
	retired bool                 // it takes no more
	idle    chan struct{}        // closed when it is retired and has no users
	over    context.Context      //nolint:containedctx // of no call: done when the session must be taken as over
	end     context.CancelFunc
}

// enter finds a session for a claim, or opens one.
func (l *Locker) enter(ctx context.Context) (*session, error) {
	select {
	case l.opening <- struct{}{}:
		defer func() { <-l.opening }()
	case <-l.open.Done():
		return nil, locks.ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w: no session yet: %w", locks.ErrNotAcquired, locks.ErrUnavailable, ctx.Err())
	}
	if s := l.join(); s != nil {
		return s, nil
	}
	asking, stop := within(ctx, l.open)
	defer stop()
	asked := l.clock.Now()
	granted, err := l.client.Grant(asking, int64(l.options.TTL/time.Second))
	if err != nil {
		return nil, fmt.Errorf("%w: %w: grant a lease: %w", locks.ErrNotAcquired, locks.ErrUnavailable, withCause(ctx, err))
	}
	recipe, err := concurrency.NewSession(l.client, concurrency.WithLease(granted.ID))
	if err != nil {
		return nil, fmt.Errorf("%w: open a session: %w", locks.ErrNotAcquired, err)
	}
	recipe.Orphan() // it is renewed here, where the moment of asking is known
	s := &session{
		id: granted.ID, recipe: recipe, idle: make(chan struct{}),
	}
	s.extend(asked, time.Duration(granted.TTL)*time.Second)
	s.over, s.end = context.WithCancel(context.Background())
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, locks.ErrClosed // the lease ends by itself
	}
	s.users, l.current = 1, s
	l.sessions[s] = struct{}{}
	l.running.Go(func() { l.keep(s) }) //nolint:contextcheck // it outlives the call
	return s, nil
}

// join takes part in the current session, if there is one.
func (l *Locker) join() *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.users++
	}
	return l.current
}

// leave ends a claim's part in a session.
func (l *Locker) leave(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.users--
	l.settle(s)
}

// retire lets a session take no more claims, because what became of a request is not known.
func (l *Locker) retire(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == nil || s.retired {
		return
	}
	s.retired = true
	if l.current == s {
		l.current = nil
	}
	l.settle(s)
}

func (l *Locker) settle(s *session) {
	if s.retired && s.users == 0 {
		close(s.idle)
	}
}

// keep renews a session until it is over, or nobody needs it any more.
func (l *Locker) keep(s *session) {
	for {
		asked := l.clock.Now()
		left := l.ends(s).Sub(asked)
		if left <= 0 {
			l.lose(s)
			return
		}
		ctx, cancel := context.WithTimeout(l.client.Ctx(), min(left, l.options.Timeout))
		ttl, err := l.renew(ctx, s.id)
		cancel()
		wait := ttl / 3
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			l.lose(s)
			return
		case err != nil:
			wait = l.options.Timeout / 10
		default:
			l.mu.Lock()
			s.extend(asked, ttl)
			l.mu.Unlock()
		}
		timer := l.clock.NewTimer(min(wait, max(l.ends(s).Sub(l.clock.Now()), 0)))
		select {
		case <-timer.C():
		case <-s.idle:
			timer.Stop()
			l.revoke(s)
			l.lose(s)
			return
		case <-s.over.Done():
			timer.Stop()
			return
		}
	}
}

// renew has etcd extend a lease. A leader whose disk is stuck goes on extending leases out of
// its own memory when the others have elected another one, which ends them (etcd issue 15247).
// So what was extended counts only if that leader still led at a read that began afterwards:
// such a read takes a majority, and its answer says whose term it is.
func (l *Locker) renew(ctx context.Context, id clientv3.LeaseID) (ttl time.Duration, err error) {
	renewed, err := l.client.KeepAliveOnce(ctx, id)
	if err != nil {
		return 0, err
	}
	read, err := l.client.Get(ctx, "locklab", clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	if read.Header.RaftTerm != renewed.RaftTerm {
		return 0, fmt.Errorf("renewed in term %d, which is over: it is %d", renewed.RaftTerm, read.Header.RaftTerm)
	}
	return time.Duration(renewed.TTL) * time.Second, nil
}

// extend counts a session from when that was asked for, less a margin: clocks may run at different
// speeds, and Lost takes time to be noticed.
func (s *session) extend(asked time.Time, granted time.Duration) {
	s.until = asked.Add(granted - granted/20 - 5*time.Millisecond)
}

// ends is when holders must stop to believe in a session.
func (l *Locker) ends(s *session) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.until
}

// lose tells the holders that the session is over.
func (l *Locker) lose(s *session) {
	l.retire(s)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.sessions[s]; known {
		delete(l.sessions, s)
		s.end()
	}
}

// revoke ends the lease at etcd, if it can be reached: else it ends by itself.
func (l *Locker) revoke(s *session) {
	ctx, cancel := context.WithTimeout(l.client.Ctx(), l.options.Timeout)
	defer cancel()
	_, _ = l.client.Revoke(ctx, s.id)
}

// withCause adds why a context ended, which gRPC's errors do not wrap. A member is told of the
// deadline: its answer that the time is over may be here before the timer of the context is.
func withCause(ctx context.Context, err error) error {
	cause := ctx.Err()
	if at, has := ctx.Deadline(); cause == nil && has && !clock.System().Now().Before(at) {
		cause = context.DeadlineExceeded
	}
	if cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
