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
// stack to the depth of gRPC's calls each time. It leaves it to undo to clean up: see once.
func (le *lease) acquire(ctx context.Context) error {
	ctx, stop := within(ctx, le.session.over)
	defer stop()
	err := le.mutex.Lock(le.asking(ctx))
	if !le.inTime() {
		le.locker.lose(le.session) // after a pause of this process, keep may not have seen it yet
	}
	if err == nil && !le.isLost() && ctx.Err() == nil {
		le.token = locks.Token(created(le.mutex)) //nolint:gosec // revisions are positive
		return nil
	}
	return le.undo(ctx, err)
}

// asking is a context of requests for this claim: see once.
func (le *lease) asking(ctx context.Context) context.Context {
	return context.WithValue(ctx, claimKey{}, le)
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
	if err := le.eraseFor(ctx); surely && !errors.Is(err, errNoAnswer) {
		return fmt.Errorf("%w: %w", locks.ErrNotAcquired, cause)
	}
	return fmt.Errorf("%w: the key may be there until the session is over: %w", locks.ErrUnknown, cause)
}

// What became of a key whose deletion was not answered.
var (
	errNoAnswer = fmt.Errorf("%w: %w: the key may be there until the session is over", locks.ErrUnknown, locks.ErrUnavailable)
	errGone     = fmt.Errorf("%w: the key is gone, perhaps with the session", locks.ErrUnknown)
)

// eraseFor deletes the key, and waits for that until ctx ends and a little longer. It goes
// on in the background until the session is over, which takes no more claims then. Its error is
// what a release says; the key may be there if it is errNoAnswer.
func (le *lease) eraseFor(ctx context.Context) error {
	l, more := le.locker, le.locker.options.Timeout
	began := l.clock.Now()
	if err := le.eraseOnce(); !errors.Is(err, errNoAnswer) { //nolint:contextcheck // it has a time of its own
		le.leave() //nolint:contextcheck // what it begins outlives the call
		return err
	}
	if ctx.Err() != nil || le.isLost() {
		more -= l.clock.Now().Sub(began) // it had that
	}
	erased := make(chan error, 1)
	if !l.begin(func() { erased <- le.erase() }) { //nolint:contextcheck // it outlives the call
		return errNoAnswer
	}
	select {
	case err := <-erased:
		return err
	case <-ctx.Done():
	case <-le.session.over.Done():
	}
	if err, ended := clock.Await(l.clock, more, erased); ended {
		return err
	}
	return errNoAnswer
}

// erase goes on deleting the key after a deletion that was not answered, until the session is over.
func (le *lease) erase() error {
	defer le.leave()
	for {
		if _, lost := clock.Await(le.locker.clock, le.locker.options.Timeout/10, le.session.over.Done()); lost {
			return errNoAnswer
		}
		switch err := le.eraseOnce(); {
		case err == nil:
			return nil
		case errors.Is(err, locks.ErrNotHeld) && le.inTime():
			return nil // the session lives, so that the deletion before it was done
		case errors.Is(err, locks.ErrNotHeld):
			return errGone
		}
	}
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
			_ = le.eraseOnce()
		}
	})
}

// eraseOnce deletes the key unless there is no answer in time: see once.
func (le *lease) eraseOnce() error {
	client := le.locker.client
	answer, err := client.Delete(le.asking(client.Ctx()), le.key)
	switch {
	case err != nil:
		return errNoAnswer
	case answer.Deleted == 0:
		return locks.ErrNotHeld
	}
	return nil
}

// inTime says whether the session surely lives, by the clock: that it is over may not have been
// noticed yet.
func (le *lease) inTime() bool {
	return le.locker.clock.Now().Before(le.locker.ends(le.session))
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
		le.leave() //nolint:contextcheck // what it begins outlives the call
		return locks.ErrNotHeld
	}
	err := le.eraseFor(ctx)
	if errors.Is(err, errNoAnswer) {
		return withCause(ctx, err)
	}
	return err
}
