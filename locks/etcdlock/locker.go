package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/local"
)

// Config configures a client.
type Config struct {
	Addrs   []string // of all members, as this client dials them
	Options Options
}

// Locker is one client of an etcd cluster.
type Locker struct {
	options Options
	client  *clientv3.Client
	queues  *local.Locker // callers of this process: a Mutex excludes sessions only
	calls   *locks.Calls

	mu       sync.Mutex
	sessions map[*concurrency.Session]struct{}
	idle     []*concurrency.Session // used by no call of Acquire and no lease
}

var _ locks.Locker = (*Locker)(nil)

// New returns a client. It dials in the background.
func New(cfg Config) (*Locker, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: cfg.Addrs, Logger: zap.NewNop()})
	if err != nil {
		return nil, fmt.Errorf("etcd: make a client: %w", err)
	}
	return &Locker{
		options: cfg.Options, client: client, queues: local.New(), calls: locks.NewCalls(),
		sessions: map[*concurrency.Session]struct{}{},
	}, nil
}

// Acquire implements [locks.Locker]. It retries failures, but not unknown outcomes.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	return l.calls.Acquire(ctx, resource, func(ctx context.Context) (locks.Lease, error) {
		turn, err := l.queues.Acquire(ctx, resource)
		if err != nil {
			return nil, err
		}
		return l.lock(ctx, resource, turn)
	})
}

// pause is the time between two attempts.
const pause = 50 * time.Millisecond

// lock claims the resource for the caller that has the local turn. The turn ends when etcd has no key of this caller.
func (l *Locker) lock(ctx context.Context, resource string, turn locks.Lease) (locks.Lease, error) {
	for {
		s, err := l.session(ctx)
		if err == nil {
			name := url.PathEscape(resource) // a name with a slash could be the prefix of another
			m := concurrency.NewMutex(s, "locklab/"+name)
			if err = m.Lock(ctx); err == nil {
				token := locks.Token(m.Header().GetRevision()) //nolint:gosec // revisions are positive
				return &lease{locker: l, turn: turn, session: s, mutex: m, owner: m.IsOwner(), token: token, name: name}, nil
			}
			err = l.undo(s, m, err) //nolint:contextcheck // a revocation outlives its caller
		}
		if !errors.Is(err, locks.ErrNotAcquired) || clock.Sleep(ctx, pause) != nil {
			return nil, errors.Join(err, turn.Release(ctx))
		}
	}
}

// session takes an idle session, or opens one.
func (l *Locker) session(ctx context.Context) (*concurrency.Session, error) {
	l.mu.Lock()
	for len(l.idle) > 0 {
		s := l.idle[len(l.idle)-1]
		l.idle = l.idle[:len(l.idle)-1]
		if !signals.Closed(s.Done()) {
			l.mu.Unlock()
			return s, nil
		}
		delete(l.sessions, s)
	}
	l.mu.Unlock()
	seconds := int(l.options.TTL / time.Second)
	granted, err := l.client.Grant(ctx, int64(seconds)) // NewSession would not obey ctx
	if err == nil {
		var s *concurrency.Session
		s, err = concurrency.NewSession(l.client, concurrency.WithLease(granted.ID), concurrency.WithTTL(seconds))
		if s != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.sessions[s] = struct{}{}
			return s, nil
		}
	}
	return nil, fmt.Errorf("%w: %w: open a session: %w", locks.ErrNotAcquired, locks.ErrUnavailable, err)
}

// giveBack makes a session idle.
func (l *Locker) giveBack(s *concurrency.Session) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, s)
}

// forgotten is the key of a Mutex that has deleted its own.
const forgotten = "\x00"

// undo removes the key of a failed Lock by revoking its lease: the library may not know of the key.
// If etcd has ended this lease, it has probably ended those of the idle sessions too.
func (l *Locker) undo(s *concurrency.Session, m *concurrency.Mutex, cause error) error {
	if errors.Is(cause, rpctypes.ErrLeaseNotFound) {
		l.mu.Lock()
		idle := l.idle
		l.idle = nil
		l.mu.Unlock()
		for _, s := range idle {
			l.calls.Go(func() { _ = l.end(s) })
		}
	}
	if m.Key() == forgotten {
		l.giveBack(s)
	} else if err := l.end(s); err != nil {
		return fmt.Errorf("%w: the key may be there until its session is over: %w: %w", locks.ErrUnknown, cause, err)
	}
	return fmt.Errorf("%w: %w", locks.ErrNotAcquired, cause)
}

// end revokes a session's lease, and retries until etcd answers: a request to a leader that has died
// is lost. If it returns nil, the session's keys are gone, and no new one can appear.
func (l *Locker) end(s *concurrency.Session) error {
	l.mu.Lock()
	delete(l.sessions, s)
	l.mu.Unlock()
	s.Orphan() // ends its renewal
	for {
		ctx, cancel := context.WithTimeout(l.client.Ctx(), locks.Patience)
		_, err := l.client.Revoke(ctx, s.Lease())
		cancel()
		if err == nil || errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return nil
		}
		if clock.Sleep(l.client.Ctx(), pause) != nil {
			return err
		}
	}
}

// Close implements [locks.Locker]. It frees held resources at once if etcd is reachable, and
// otherwise they are free when their leases expire.
func (l *Locker) Close() error {
	if !l.calls.Stop() {
		return nil
	}
	l.mu.Lock()
	var revoking sync.WaitGroup
	for s := range l.sessions {
		revoking.Go(func() { _ = s.Close() })
	}
	l.mu.Unlock()
	revoked := make(chan struct{})
	go func() {
		revoking.Wait()
		l.calls.Wait()
		close(revoked)
	}()
	clock.Await(clock.System(), locks.Patience, revoked)
	err := l.client.Close() // ends the revocations that still run
	<-revoked
	if errors.Is(err, context.Canceled) { // the client returns this from every Close
		err = nil
	}
	return err
}

// lease is one hold of the library's Mutex.
type lease struct {
	locker  *Locker
	turn    locks.Lease // among this process's callers
	session *concurrency.Session
	mutex   *concurrency.Mutex
	owner   clientv3.Cmp // true while etcd has the key of this hold
	token   locks.Token
	name    string // of the resource, without slashes

	release locks.ReleaseOnce
}

var (
	_ locks.Lease  = (*lease)(nil)
	_ locks.Storer = (*lease)(nil)
	_ locks.Store  = guarded{}
)

// Token returns the revision of etcd at the grant. A later grant follows the deletion of this hold's
// key, which has a higher revision.
func (le *lease) Token() (locks.Token, bool) { return le.token, true }

// Expires returns false: the library does not say when its lease ends.
func (le *lease) Expires() (time.Time, bool) { return time.Time{}, false }

// Lost is closed when the library considers the session ended, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.session.Done() }

// Release deletes the key. If the outcome is unknown, it revokes the session's lease in the background.
func (le *lease) Release(ctx context.Context) error {
	return le.release.Do(le.name, func() error {
		err := errors.New("the session was over before")
		if !signals.Closed(le.Lost()) {
			if err = le.mutex.Unlock(ctx); err == nil {
				le.locker.giveBack(le.session)
				return le.turn.Release(ctx)
			}
		}
		le.locker.calls.Go(func() {
			_ = le.locker.end(le.session)                   //nolint:contextcheck // a revocation outlives its caller
			_ = le.turn.Release(context.WithoutCancel(ctx)) // local, so it cannot fail
		})
		return fmt.Errorf("%w: %w", locks.ErrUnknown, err)
	})
}
