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

	// unanswered says that a request to put the key has failed, though a later one may have been
	// answered: it may be applied yet, also when the key was deleted meanwhile.
	unanswered bool

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

// acquire asks etcd. The recipe runs in the caller's goroutine: one of its own would grow its
// stack to the depth of gRPC's calls each time. See once for how long it may clean up.
func (le *lease) acquire(ctx context.Context) error {
	ctx, stop := within(ctx, le.session.over)
	defer stop()
	err := le.mutex.Lock(context.WithValue(ctx, claimKey{}, le))
	if !le.locker.clock.Now().Before(le.locker.ends(le.session)) {
		le.locker.lose(le.session) // after a pause of this process, keep may not have seen it yet
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

// undo sees to it that the key of a claim that failed is gone.
func (le *lease) undo(ctx context.Context, cause error) error {
	if cause == nil {
		cause = errors.New("it was granted too late")
	}
	// A lease that etcd has not found never comes back, and no key can be put under it.
	surely := !le.unanswered || errors.Is(cause, rpctypes.ErrLeaseNotFound)
	if _, gone := le.eraseFor(ctx); gone && surely {
		return fmt.Errorf("%w: %w", locks.ErrNotAcquired, cause)
	}
	return fmt.Errorf("%w: the key may be there until the session is over: %w", locks.ErrUnknown, cause)
}

// eraseFor deletes the key, and waits for that until ctx ends and a little longer. It goes
// on in the background until the session is over, which takes no more claims then.
func (le *lease) eraseFor(ctx context.Context) (was, gone bool) {
	l, more := le.locker, le.locker.options.Timeout
	began := l.clock.Now()
	if was, gone = le.eraseOnce(); gone { //nolint:contextcheck // it has a time of its own
		le.leave()
		return was, gone
	}
	if ctx.Err() != nil || le.isLost() {
		more -= l.clock.Now().Sub(began) // it had that
	}
	erased := make(chan bool, 1)
	if !l.begin(func() { erased <- le.erase() }) { //nolint:contextcheck // it outlives the call
		return false, false // closed
	}
	select {
	case gone = <-erased:
		return gone, gone // the answer that was lost may have deleted it
	case <-ctx.Done():
	case <-le.session.over.Done():
	}
	if gone, ended := clock.Await(l.clock, more, erased); ended {
		return gone, gone
	}
	l.retire(le.session)
	return false, false
}

// erase goes on deleting the key, and says whether it is gone before the session is over.
func (le *lease) erase() (gone bool) {
	defer le.leave()
	for !gone {
		if _, lost := clock.Await(le.locker.clock, le.locker.options.Timeout/10, le.session.over.Done()); lost {
			return false
		}
		_, gone = le.eraseOnce()
	}
	return gone
}

// leave ends the claim's part in its session. Where the key may come yet, it is deleted again
// and again until the session is over: nobody holds it, but it would block the resource.
func (le *lease) leave() {
	l, over := le.locker, le.session.over.Done()
	l.leave(le.session)
	if !le.unanswered {
		return
	}
	l.begin(func() {
		for {
			if _, lost := clock.Await(l.clock, l.options.Timeout, over); lost {
				return
			}
			le.eraseOnce()
		}
	})
}

// eraseOnce deletes the key unless there is no answer in time: see once.
func (le *lease) eraseOnce() (was, gone bool) {
	answer, err := le.locker.client.Delete(le.locker.client.Ctx(), le.key)
	if err != nil {
		return false, false
	}
	return answer.Deleted > 0, true
}

func (le *lease) isLost() bool {
	return le.session.over.Err() != nil
}

// Token is the create revision of the key. It grows from grant to grant because the key
// that was created first is granted first.
func (le *lease) Token() (locks.Token, bool) { return le.token, true }

// Expires is when the session is over, unless it is renewed before.
func (le *lease) Expires() (time.Time, bool) { return le.locker.ends(le.session), true }

// Lost is closed when the session is over, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.session.over.Done() }

// Release deletes the key. It goes on in the background when ctx ends.
func (le *lease) Release(ctx context.Context) error {
	return le.release.Do(le.resource, func() error { return le.releaseOnce(ctx) })
}

func (le *lease) releaseOnce(ctx context.Context) error {
	defer func() { _ = le.place.Release(ctx) }() // it is in this process
	if le.isLost() {
		le.leave()
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
