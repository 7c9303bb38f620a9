package zklock

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/locks"
	"locklab/locks/clock"
)

// lease is a claim on a resource, and once it is the first, the lease.
type lease struct {
	locker   *Locker
	session  *session
	resource string
	parent   string         // above the resource's claims
	prefix   string         // of the claim's path, which no other claim has
	path     string         // of the claim
	early    <-chan listing // what was there right after the claim; nil if nothing was asked
	token    locks.Token
	taken    atomic.Bool // the caller has it, or has gone

	release locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

func newLease(l *Locker, s *session, resource string) *lease {
	parent := root + "/@" + url.PathEscape(resource) // a path must not have "." for a name
	return &lease{
		locker: l, session: s, resource: resource, parent: parent,
		prefix: fmt.Sprintf("%s/%x-%d-", parent, s.conn.SessionID(), l.claims.Add(1)),
	}
}

// acquire waits for what run finds. The library's calls do not obey contexts, so they are
// made beside the caller.
func (le *lease) acquire(ctx context.Context) error {
	l := le.locker
	found := make(chan error, 1)
	if !l.begin(func() { found <- le.run(ctx) }) {
		return locks.ErrClosed
	}
	select {
	case err := <-found:
		return err
	case <-ctx.Done():
	}
	if err, came := clock.Await(l.clock, l.options.Timeout, found); came {
		return err
	}
	if le.taken.CompareAndSwap(false, true) {
		return fmt.Errorf("%w: %w: no answer in time; it is being undone", locks.ErrUnknown, locks.ErrUnavailable)
	}
	return <-found
}

// run makes the claim and waits until it is the first. Where it fails it sees to it that the
// claim is gone.
func (le *lease) run(ctx context.Context) error {
	err := le.create(ctx)
	if err != nil {
		return err
	}
	err = le.wait(ctx)
	if !le.locker.inTime(le.session) {
		le.locker.lose(le.session) // after a pause of this process
	}
	if err == nil && !le.session.isLost() && ctx.Err() == nil && le.taken.CompareAndSwap(false, true) {
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
	_, lost := clock.Await(le.locker.clock, le.session.wire.patience()/20, le.session.lost)
	return !lost
}

// asked counts a request and its answer.
func (le *lease) asked() { le.locker.sent.Add(2) }

// listing is an answer to what claims there are.
type listing struct {
	names []string
	stat  *zk.Stat
	err   error
}

// list asks for the claims. A server answers the requests of a session in their order, so
// what is asked right behind the claim costs no round trip of its own; look sees whether it
// was asked behind it.
func (le *lease) list() <-chan listing {
	if le.locker.options.WatchAll {
		return nil // each list sets a watch
	}
	answer := make(chan listing, 1)
	begun := le.locker.begin(func() {
		var l listing
		l.names, l.stat, l.err = le.session.conn.Children(le.parent)
		le.asked()
		answer <- l
	})
	if !begun {
		return nil // closed
	}
	return answer
}

// create makes the claim. What was not answered is looked for until that is.
func (le *lease) create(ctx context.Context) error {
	conn := le.session.conn
	for {
		early := le.list()
		path, err := conn.Create(le.prefix, nil, zk.FlagEphemeralSequential, everybody())
		le.asked()
		switch {
		case err == nil:
			le.path, le.early = path, early
			return nil
		case errors.Is(err, zk.ErrNoNode):
			_, err = conn.CreateContainer(le.parent, nil, zk.FlagContainer, everybody())
			le.asked()
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
		if le.session.isLost() || ctx.Err() != nil || !le.again() {
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
				return "", !le.session.isLost()
			case err == nil:
				for _, name := range names {
					if at := le.parent + "/" + name; len(at) > len(le.prefix) && at[:len(le.prefix)] == le.prefix {
						return at, true
					}
				}
				return "", !le.session.isLost()
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
func (le *lease) look() (<-chan zk.Event, error) {
	own := le.path[len(le.parent)+1:]
	var at listing
	var changed <-chan zk.Event
	if le.early != nil {
		at = <-le.early
		le.early = nil
	}
	if !slices.Contains(at.names, own) { // or it was asked before the claim, or in vain
		if le.locker.options.WatchAll {
			at.names, at.stat, changed, at.err = le.session.conn.ChildrenW(le.parent)
		} else {
			at.names, at.stat, at.err = le.session.conn.Children(le.parent)
		}
		le.asked()
	}
	if at.err != nil {
		return nil, at.err
	}
	before, there := previous(at.names, own)
	switch {
	case !there:
		return nil, fmt.Errorf("the claim was deleted: %w", zk.ErrNoNode)
	case before == "":
		le.token = locks.Token(at.stat.Pzxid) //nolint:gosec // zxids are positive
		return nil, nil
	case changed != nil:
		return changed, nil
	}
	_, _, changed, err := le.session.conn.GetW(le.parent + "/" + before)
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

// Expires is when the session is over, unless it is renewed before.
func (le *lease) Expires() (time.Time, bool) { return le.locker.ends(le.session), true }

// Lost is closed when the session is over, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.session.lost }

// Release deletes the claim. It goes on in the background when ctx ends.
func (le *lease) Release(ctx context.Context) error {
	return le.release.Do(le.resource, func() error { return le.releaseOnce(ctx) })
}

func (le *lease) releaseOnce(ctx context.Context) error {
	l := le.locker
	if le.session.isLost() {
		return locks.ErrNotHeld
	}
	erased := make(chan error, 1)
	begun := l.begin(func() {
		switch was, gone := le.erase(); {
		case !gone:
			erased <- fmt.Errorf("%w: %w", locks.ErrUnknown, errOver)
		case !was:
			erased <- locks.ErrNotHeld
		default:
			erased <- nil
		}
	})
	if !begun { // Close ended the session
		return locks.ErrNotHeld
	}
	select {
	case err := <-erased:
		return err
	case <-ctx.Done():
	}
	if err, came := clock.Await(l.clock, l.options.Timeout, erased); came {
		return err
	}
	return fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, ctx.Err())
}
