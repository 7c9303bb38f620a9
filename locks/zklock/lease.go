package zklock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// root is above all resources.
const root = "/locklab"

// lease is a claim on a resource, and once it is the first, the lease.
type lease struct {
	locker   *Locker
	session  *session
	resource string
	parent   string // above the resource's claims
	prefix   string // of the claim's path, which no other claim has
	path     string // of the claim
	token    locks.Token

	release locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

func newLease(l *Locker, s *session, resource string) *lease {
	parent := root + "/@" + url.PathEscape(resource) // a path must not have "." for a name
	return &lease{
		locker: l, session: s, resource: resource, parent: parent,
		prefix: fmt.Sprintf("%s/%s-%d-", parent, l.id, l.claims.Add(1)),
	}
}

// acquire makes the claim and waits until it is the first. Where it fails it sees to it that the
// claim is gone.
func (le *lease) acquire(ctx context.Context) error {
	if err := le.create(ctx); err != nil {
		return err
	}
	err := le.wait(ctx)
	if err == nil && !signals.Closed(le.session.lost) && ctx.Err() == nil {
		return nil
	}
	if err == nil {
		err = errors.New("it was granted too late")
	}
	if _, gone := le.erase(); gone {
		return fmt.Errorf("%w: %w", locks.ErrNotAcquired, err)
	}
	return fmt.Errorf("%w: the claim may be there until the session is over: %w", locks.ErrUnknown, err)
}

var errOver = fmt.Errorf("zookeeper: the session is over: %w", locks.ErrUnavailable)

// again pauses before something is tried again; it says no when the session is over.
func (le *lease) again() bool {
	const pause = 50 * time.Millisecond
	_, lost := clock.Await(clock.System(), pause, le.session.lost)
	return !lost
}

// asked counts a request and its answer.
func (le *lease) asked() { le.locker.sent.Add(2) }

// create makes the claim. What was not answered is looked for until that is.
func (le *lease) create(ctx context.Context) error {
	conn := le.session.conn
	for {
		path, err := conn.Create(le.prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		le.asked()
		switch {
		case err == nil:
			le.path = path
			return nil
		case errors.Is(err, zk.ErrNoNode):
			_, err = conn.CreateContainer(le.parent, nil, zk.FlagContainer, zk.WorldACL(zk.PermAll))
			le.asked()
			if errors.Is(err, zk.ErrNoNode) {
				_, err = conn.Create(root, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
				le.asked()
			}
			if err == nil || errors.Is(err, zk.ErrNodeExists) {
				continue
			}
		case !surelyNot(err):
			if path, known := le.find(); !known {
				return fmt.Errorf("%w: create the claim: %w: %w", locks.ErrUnknown, errOver, err)
			} else if path != "" {
				le.path = path
				return nil
			}
		}
		if signals.Closed(le.session.lost) || ctx.Err() != nil || !le.again() {
			return fmt.Errorf("%w: create the claim: %w", locks.ErrNotAcquired, err)
		}
	}
}

// find looks for a claim whose creation was not answered. An empty path says that there is
// none and none will come. It knows nothing if the session ended before.
func (le *lease) find() (path string, known bool) {
	conn := le.session.conn
	for {
		_, err := conn.Sync(root)
		le.asked()
		if err == nil {
			var names []string
			names, _, err = conn.Children(le.parent)
			le.asked()
			switch {
			case errors.Is(err, zk.ErrNoNode):
				return "", !signals.Closed(le.session.lost)
			case err == nil:
				for _, name := range names {
					if at := le.parent + "/" + name; strings.HasPrefix(at, le.prefix) {
						return at, true
					}
				}
				return "", !signals.Closed(le.session.lost)
			}
		}
		if !le.again() {
			return "", false
		}
	}
}

// wait waits until the claim is the first.
func (le *lease) wait(ctx context.Context) error {
	for {
		changed, err := le.look()
		switch {
		case err == nil && changed == nil:
			return nil
		case err != nil && surelyNot(err):
			return err
		case err != nil:
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !le.again() {
				return errOver
			}
			continue
		}
		select {
		case <-changed:
			le.locker.sent.Add(1)
			le.locker.woken.Add(1)
		case <-ctx.Done():
			return ctx.Err()
		case <-le.session.lost:
			return errOver
		}
	}
}

// look returns what tells of the change that may make the claim the first; nil if it is.
func (le *lease) look() (changed <-chan zk.Event, err error) {
	conn, own := le.session.conn, le.path[len(le.parent)+1:]
	var names []string
	var stat *zk.Stat
	if le.locker.options.WatchAll {
		names, stat, changed, err = conn.ChildrenW(le.parent)
	} else {
		names, stat, err = conn.Children(le.parent)
	}
	le.asked()
	if err != nil {
		return nil, err
	}
	before, there := previous(names, own)
	switch {
	case !there:
		return nil, fmt.Errorf("the claim was deleted: %w", zk.ErrNoNode)
	case before == "":
		le.token = locks.Token(stat.Pzxid) //nolint:gosec // zxids are positive
		return nil, nil
	case changed != nil:
		return changed, nil
	case le.locker.options.WatchLate:
		_, _, changed, err = conn.ExistsW(le.parent + "/" + before) // it may be gone, and tell nothing any more
		le.asked()
		return changed, err
	}
	_, _, changed, err = conn.GetW(le.parent + "/" + before)
	le.asked()
	if errors.Is(err, zk.ErrNoNode) {
		return le.look()
	}
	return changed, err
}

// number is the end of a claim's name, by which the servers have put the claims in order.
const digits = 10

func number(name string) string { return name[max(0, len(name)-digits):] }

// previous is the claim before one's own, and whether that is there.
func previous(names []string, own string) (before string, there bool) {
	for _, name := range names {
		there = there || name == own
		if n := number(name); n < number(own) && (before == "" || n > number(before)) {
			before = name
		}
	}
	return before, there
}

// erase deletes the claim. It says whether the claim was there, once it is gone.
func (le *lease) erase() (was, gone bool) {
	for again := false; ; again = true {
		err := le.session.conn.Delete(le.path, -1)
		le.asked()
		switch {
		case err == nil:
			return true, true
		case errors.Is(err, zk.ErrNoNode):
			return again, true // an answer that was lost may have deleted it
		}
		if !le.again() {
			return false, false
		}
	}
}

// Token is a zxid: see the package's documentation.
func (le *lease) Token() (locks.Token, bool) { return le.token, true }

// Expires says that there is none.
func (le *lease) Expires() (time.Time, bool) { return time.Time{}, false }

// Lost is closed when the session must be taken as over, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.session.lost }

// Release deletes the claim. It goes on in the background when ctx ends.
func (le *lease) Release(ctx context.Context) error {
	return le.release.Do(le.resource, func() error {
		if signals.Closed(le.session.lost) {
			return locks.ErrNotHeld
		}
		return le.locker.calls.Release(ctx, func() error {
			switch was, gone := le.erase(); {
			case !gone:
				return fmt.Errorf("%w: %w", locks.ErrUnknown, errOver)
			case !was:
				return locks.ErrNotHeld
			}
			return nil
		})
	})
}

// surelyNot says that what was asked for was not done, and will not be.
func surelyNot(err error) bool {
	return slices.ContainsFunc([]error{
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNotEmpty,
		zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrInvalidACL, zk.ErrInvalidFlags, zk.ErrAuthFailed, zk.ErrBadArguments,
		zk.ErrNoServer, zk.ErrInvalidPath,
	}, func(sure error) bool { return errors.Is(err, sure) })
}
