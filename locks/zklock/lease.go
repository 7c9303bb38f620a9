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

// root is the parent of all resources' nodes.
const root = "/locklab"

// lease is a claim on a resource, and the lease once the claim is first.
type lease struct {
	locker   *Locker
	session  *session
	resource string
	parent   string // of the resource's claims
	prefix   string // of the claim's path, unique
	path     string // of the claim
	token    locks.Token

	release locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

func newLease(l *Locker, s *session, resource string) *lease {
	parent := root + "/@" + url.PathEscape(resource) // with @, because ZooKeeper refuses the name "."
	return &lease{
		locker: l, session: s, resource: resource, parent: parent,
		prefix: fmt.Sprintf("%s/%s-%d-", parent, l.id, l.claims.Add(1)),
	}
}

// acquire makes the claim and waits until it is first. If that fails, acquire deletes the claim.
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

// again pauses before a retry. It is false when the session is over.
func (le *lease) again() bool {
	const pause = 50 * time.Millisecond
	_, lost := clock.Await(clock.System(), pause, le.session.lost)
	return !lost
}

// asked counts a request and its answer.
func (le *lease) asked() { le.locker.sent.Add(2) }

// create makes the claim. If a request gets no answer, create looks for the claim.
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

// find looks for a claim whose creation was not answered. An empty path means that it does not
// exist and will not appear. If the session has ended, known is false.
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

// wait waits until the claim is first.
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

// look returns nil if the claim is first, and otherwise a watch for the change that may make it first.
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
		_, _, changed, err = conn.ExistsW(le.parent + "/" + before) // never fires if the node is already gone
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

// digits is the length of the number with which the servers end a claim's name.
const digits = 10

func number(name string) string { return name[max(0, len(name)-digits):] }

// previous returns the claim before the own one, and whether the own one is there.
func previous(names []string, own string) (before string, there bool) {
	for _, name := range names {
		there = there || name == own
		if n := number(name); n < number(own) && (before == "" || n > number(before)) {
			before = name
		}
	}
	return before, there
}

// erase deletes the claim. It reports whether the claim was there, and whether it is surely gone.
func (le *lease) erase() (was, gone bool) {
	for again := false; ; again = true {
		err := le.session.conn.Delete(le.path, -1)
		le.asked()
		switch {
		case err == nil:
			return true, true
		case errors.Is(err, zk.ErrNoNode):
			return again, true // an earlier, unanswered request may have deleted it
		}
		if !le.again() {
			return false, false
		}
	}
}

// Token returns a zxid, see the package comment.
func (le *lease) Token() (locks.Token, bool) { return le.token, true }

// Expires returns false: the library does not say when its session ends.
func (le *lease) Expires() (time.Time, bool) { return time.Time{}, false }

// Lost is closed when the session must be considered over, and by Close.
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

// surelyNot reports whether the request was not executed, and will not be.
func surelyNot(err error) bool {
	return slices.ContainsFunc([]error{
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNotEmpty,
		zk.ErrSessionExpired, zk.ErrSessionMoved, zk.ErrInvalidACL, zk.ErrInvalidFlags, zk.ErrAuthFailed, zk.ErrBadArguments,
		zk.ErrNoServer, zk.ErrInvalidPath,
	}, func(sure error) bool { return errors.Is(err, sure) })
}
