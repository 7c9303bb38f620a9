package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3/concurrency"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// lease is one key below a resource, and once it is the oldest, the lease.
type lease struct {
	locker   *Locker
	session  *session
	resource string
	mutex    *concurrency.Mutex
	key      string
	place    locks.Lease // in the queue of this process
	token    locks.Token

	release locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

func newLease(l *Locker, s *session, resource string) *lease {
	prefix := "locklab/" + url.PathEscape(resource) // a slash would make it the prefix of others
	return &lease{
		locker: l, session: s, resource: resource, mutex: concurrency.NewMutex(s.recipe, prefix),
		key: fmt.Sprintf("%s/%x", prefix, s.id), // as the recipe names it
	}
}

// acquire asks etcd. The recipe cleans up with a context of its own, and may take long
// where nobody answers, so it runs beside the caller.
func (le *lease) acquire(ctx context.Context) error {
	l := le.locker
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	locked := make(chan error, 1)
	l.running.Go(func() { locked <- le.mutex.Lock(ctx) })
	var err error
	select {
	case err = <-locked:
	case <-ctx.Done():
		err = le.await(locked)
	case <-le.session.lost:
		cancel()
		err = le.await(locked)
	}
	if err == nil && !le.isLost() && ctx.Err() == nil {
		le.token = locks.Token(created(le.mutex)) //nolint:gosec // revisions are positive
		return nil
	}
	return le.undo(ctx, err)
}

// created is the create revision of the recipe's key; it is not positive where none is known.
func created(m *concurrency.Mutex) int64 {
	isOwner := pb.Compare(m.IsOwner())
	return isOwner.GetCreateRevision()
}

// errLate says that the recipe did not return in time.
var errLate = fmt.Errorf("etcd: no answer in time: %w", locks.ErrUnavailable)

// await gives the recipe a moment to clean up after itself.
func (le *lease) await(locked <-chan error) error {
	l := le.locker
	timer := l.clock.NewTimer(l.options.Timeout)
	defer timer.Stop()
	select {
	case err := <-locked:
		return err
	case <-timer.C():
	case <-l.done:
	}
	l.retire(le.session) // the recipe goes on, so this key must not be used again
	return errLate
}

// undo sees to it that the key of a claim that failed is gone.
func (le *lease) undo(ctx context.Context, cause error) error {
	if cause == nil {
		cause = errors.New("it was granted too late")
	}
	// What etcd never answered may be applied later, however often the key was deleted. Where
	// the recipe still runs, its Mutex must not be read.
	answered := cause != errLate && //nolint:errorlint // it is never wrapped
		(le.mutex.Key() == "\x00" || created(le.mutex) > 0 || errors.Is(cause, rpctypes.ErrLeaseNotFound))
	if _, gone := le.eraseFor(ctx); gone && answered {
		return fmt.Errorf("%w: %w", locks.ErrNotAcquired, cause)
	}
	return fmt.Errorf("%w: the key may be there until the session is over: %w", locks.ErrUnknown, cause)
}

// eraseFor deletes the key, and waits for that until ctx ends and a little longer. It goes
// on in the background until the session is over, which takes no more claims then.
func (le *lease) eraseFor(ctx context.Context) (was, gone bool) {
	l := le.locker
	erased := make(chan bool, 1)
	l.running.Go(func() { le.erase(erased) }) //nolint:contextcheck // it outlives the call
	select {
	case was, gone = <-erased:
		return was, gone
	case <-ctx.Done():
	case <-le.session.lost:
	}
	timer := l.clock.NewTimer(l.options.Timeout)
	defer timer.Stop()
	select {
	case was, gone = <-erased:
	case <-timer.C():
		l.retire(le.session)
	}
	return was, gone
}

// erase says whether the key was there, once it is gone; it says nothing if it never heard.
func (le *lease) erase(erased chan<- bool) {
	l := le.locker
	defer l.leave(le.session)
	defer close(erased)
	for again := false; ; again = true {
		ctx, cancel := context.WithTimeout(l.client.Ctx(), l.options.Timeout)
		answer, err := l.client.Delete(ctx, le.key)
		cancel()
		if err == nil {
			erased <- answer.Deleted > 0 || again // an answer that was lost may have deleted it
			return
		}
		if _, lost := clock.Await(l.clock, l.options.Timeout/10, le.session.lost); lost {
			return
		}
	}
}

func (le *lease) isLost() bool {
	return signals.Closed(le.session.lost)
}

// Token is the create revision of the key. It grows from grant to grant because the key
// that was created first is granted first.
func (le *lease) Token() (locks.Token, bool) { return le.token, true }

// Expires is when the session is over, unless it is renewed before.
func (le *lease) Expires() (time.Time, bool) { return le.locker.ends(le.session), true }

// Lost is closed when the session is over, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.session.lost }

// Release deletes the key. It goes on in the background when ctx ends.
func (le *lease) Release(ctx context.Context) error {
	return le.release.Do(le.resource, func() error { return le.releaseOnce(ctx) })
}

func (le *lease) releaseOnce(ctx context.Context) error {
	l := le.locker
	defer func() { _ = le.place.Release(ctx) }() // it is in this process
	if le.isLost() {
		l.leave(le.session)
		return locks.ErrNotHeld
	}
	switch was, gone := le.eraseFor(ctx); {
	case !gone:
		return withCause(ctx, fmt.Errorf("%w: %w", locks.ErrUnknown, locks.ErrUnavailable))
	case !was:
		return locks.ErrNotHeld
	}
	return nil
}
