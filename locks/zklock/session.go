package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// root is above all resources.
const root = "/locklab"

// session is one session at the servers. The Locker's mutex guards what changes.
type session struct {
	conn    *zk.Conn
	wire    *wire
	renewed time.Time     // when the last renewal was asked for that was answered
	until   time.Time     // it surely lives until then; zero before it is open
	open    chan struct{} // closed when it can be used
	lost    chan struct{} // closed when it must be taken as over
}

// believed is until when a session surely lives of which a renewal was answered. The leader
// counts a session from when the client's server tells it of the renewal, up to half a tick
// after the write. If that server dies before, the leader counts from the renewal before this
// one. The margin, a fifth, is for clocks that run at different speeds too; where only that is
// to be feared, it is a twentieth.
func believed(granted time.Duration, before, asked time.Time) time.Time {
	until, surely := asked.Add(granted-granted/5), before.Add(granted-granted/20)
	if surely.Before(until) {
		return surely
	}
	return until
}

func (s *session) isLost() bool {
	return signals.Closed(s.lost)
}

// enter waits until there is a session for a claim.
func (l *Locker) enter(ctx context.Context) (*session, error) {
	s, err := l.join()
	if err != nil {
		return nil, err
	}
	select {
	case <-s.open:
		return s, nil
	case <-s.lost:
		return nil, fmt.Errorf("%w: %w: no session", locks.ErrNotAcquired, locks.ErrUnavailable)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w: no session yet: %w", locks.ErrNotAcquired, locks.ErrUnavailable, ctx.Err())
	}
}

// join returns the current session, or begins one.
func (l *Locker) join() (*session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, locks.ErrClosed
	}
	if l.current != nil {
		return l.current, nil
	}
	s := &session{wire: &wire{clock: l.clock, timeout: l.options.Timeout}, open: make(chan struct{}), lost: make(chan struct{})}
	conn, events, err := zk.Connect(l.addrs, l.options.Session, zk.WithDialer(s.wire.dial), zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateExpired { // the library would go on with another session
				l.lose(s)
			}
		}))
	if err != nil {
		return nil, fmt.Errorf("%w: %w: connect: %w", locks.ErrNotAcquired, locks.ErrUnavailable, err)
	}
	s.conn, l.current = conn, s
	l.running.Go(func() {
		for range events { // it ends when the library has ended
		}
	})
	l.running.Go(func() { l.keep(s) })
	return s, nil
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// keep opens a session and renews it until it is over.
func (l *Locker) keep(s *session) {
	defer s.wire.close()
	defer s.conn.Close() // frees what was held, if a server can be reached
	defer func() {
		l.lose(s)
		// Whoever held has to notice before another one can: that is what the margin is for.
		clock.Await(l.clock, s.wire.session()/20, l.closing)
	}()
	for {
		asked := l.clock.Now()
		err, over := l.renew(s, asked)
		if over || errors.Is(err, zk.ErrSessionExpired) {
			return
		}
		wait := s.wire.patience() / 10
		if err == nil && l.extend(s, asked) {
			wait = s.wire.session() / 6
		}
		if _, lost := clock.Await(l.clock, min(wait, l.left(s)), s.lost); lost {
			return
		}
	}
}

// renew writes something. A server that does not answer in time is hung up on; the library
// then goes on with another one. It is over when the session is.
func (l *Locker) renew(s *session, asked time.Time) (err error, over bool) { //nolint:revive // over is no detail of the error
	answered := make(chan error, 1)
	l.running.Go(func() { answered <- l.write(s) })
	for {
		left := l.left(s)
		if left <= 0 {
			return nil, true
		}
		patience := s.wire.patience()
		timer := l.clock.NewTimer(min(left, patience))
		select {
		case err := <-answered:
			timer.Stop()
			return err, false
		case <-timer.C():
			if l.clock.Now().Sub(asked) >= patience {
				s.wire.hangUp(patience)
			}
		case <-s.lost:
			timer.Stop()
			return nil, true
		}
	}
}

// write is answered by a quorum, whatever the answer is.
func (l *Locker) write(s *session) error {
	_, err := s.conn.Set(root, nil, -1)
	if errors.Is(err, zk.ErrNoNode) {
		_, err = s.conn.Create(root, nil, zk.FlagPersistent, everybody())
	}
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

func everybody() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// extend counts the session from when it was renewed. It is of no use if it was over by then.
func (l *Locker) extend(s *session, asked time.Time) bool {
	granted := s.wire.session()
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.isLost() || granted <= 0 {
		return false
	}
	if s.until.IsZero() {
		s.renewed = s.wire.since() // the leader itself opens sessions
		close(s.open)
	}
	s.until, s.renewed = believed(granted, s.renewed, asked), asked
	return true
}

// inTime says whether the session surely lives, by the clock: keep may not have noticed yet that it is over.
func (l *Locker) inTime(s *session) bool { return l.clock.Now().Before(l.ends(s)) }

// left is how long a session can still be believed in. One that is being opened has all the
// time that there is.
func (l *Locker) left(s *session) time.Duration {
	l.mu.Lock()
	opening := s.until.IsZero()
	l.mu.Unlock()
	if opening {
		return time.Hour
	}
	return l.ends(s).Sub(l.clock.Now())
}

// ends is when holders must stop to believe in a session.
func (l *Locker) ends(s *session) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.until
}

// lose tells the holders that the session is over.
func (l *Locker) lose(s *session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == s {
		l.current = nil
	}
	if !s.isLost() {
		close(s.lost)
	}
}
