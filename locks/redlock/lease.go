package redlock

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// keyPrefix separates the locks' keys from all others.
const keyPrefix = "lock:"

// deleteFor is how long a deletion is repeated for an unreachable instance: a SET that was
// on its way when the network broke may arrive that late.
const deleteFor = time.Minute

// Release is the Lua script of a deletion, with the key in KEYS[1] and the token in ARGV[1].
//
//go:embed scripts/release.lua
var Release string

// Extend is the Lua script of an extension, with the lease time in ms in ARGV[2].
//
//go:embed scripts/extend.lua
var Extend string

// lease is one attempt and, once granted, the lease: the shell around the machine.
type lease struct {
	locker     *Locker
	resource   string
	key, token string

	began     time.Duration
	contended bool // an earlier attempt of the call was denied

	decided chan bool     // one value: granted or denied
	cleared chan struct{} // closed by effCleared or effLost
	freed   chan struct{} // closed by effFreed
	lost    chan struct{}
	ended   chan result // one value

	mu      sync.Mutex
	machine machine
	why     error // the latest reason why an instance did not answer
	timer   clock.Timer

	keep    atomic.Bool  // see Single.Set
	until   atomic.Int64 // validity end, as time.Duration since locker.origin
	release locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

func (l *Locker) newLease(resource string) *lease {
	return &lease{
		locker:   l,
		resource: resource,
		began:    l.now(),
		key:      keyPrefix + resource,
		token:    l.how.Token(),
		decided:  make(chan bool, 1),
		cleared:  make(chan struct{}),
		freed:    make(chan struct{}),
		lost:     make(chan struct{}),
		ended:    make(chan result, 1),
		machine:  newMachine(l.rules),
	}
}

// step passes an event to the machine and carries out its effects.
func (le *lease) step(e event) {
	le.mu.Lock()
	e.now = le.locker.now()
	var commands []effect
	for _, eff := range le.machine.step(e) {
		switch eff.kind {
		case effSet, effExtend, effDelete:
			commands = append(commands, eff)
		case effTimer:
			le.arm(eff.at - e.now)
		case effGranted:
			le.until.Store(int64(eff.at))
			le.decided <- true
		case effRenewed:
			le.until.Store(int64(eff.at))
		case effDenied:
			le.disarm()
			le.decided <- false
		case effCleared:
			close(le.cleared)
		case effFreed:
			close(le.freed)
		case effLost:
			le.disarm()
			close(le.lost)
			close(le.cleared)
			le.locker.drop(le)
		case effEnded:
			le.disarm()
			le.ended <- eff.result
		}
	}
	le.mu.Unlock()
	for _, c := range commands { // unlocked, because an inline lane answers during send
		le.send(c, e.now)
	}
}

// send sends the command of an effect to its instance.
func (le *lease) send(eff effect, now time.Duration) {
	l, how := le.locker, le.locker.how
	ttl := l.rules.ttl.Milliseconds()
	c := &command{then: func(c *command, value any, err error) {
		le.receive(eff, Verdict(value, err), c.repeated, err)
	}}
	switch {
	case eff.kind == effDelete:
		script, token := l.release, le.token
		if le.until.Load() != 0 { // it was granted
			script = l.free
		} else if le.keep.Load() {
			token = "" // matches no key, so nothing is deleted
		}
		c.args, c.until = []any{"evalsha", script, 1, le.key, token}, now+deleteFor
	case eff.kind == effExtend && how.Extend != nil:
		l.running.Go(func() {
			answer, err := how.Extend(le.key, le.token)
			le.receive(eff, answer, false, err)
		})
		return
	case eff.kind == effExtend:
		c.args = []any{"evalsha", l.extend, 1, le.key, le.token, ttl}
	case how.Set != nil:
		l.running.Go(func() {
			answer, keep, err := how.Set(l.lane(0, le.resource).do, le.key, le.token)
			le.keep.Store(keep)
			le.receive(eff, answer, false, err)
		})
		return
	default:
		c.args = []any{"set", le.key, le.token, "nx", "px", ttl}
	}
	l.lane(eff.instance, le.resource).send(c)
}

// Verdict classifies the answer to a SET or a script: OK and 1 mean Yes.
func Verdict(value any, err error) Answer {
	switch ran := Ran(err); {
	case ran != Yes:
		return ran
	case value == "OK", value == int64(1):
		return Yes
	}
	return No
}

// receive handles an instance's answer, or the reason why there is none.
func (le *lease) receive(eff effect, a Answer, repeated bool, why error) {
	kinds := [...]eventKind{effSet: evSet, effExtend: evExtended, effDelete: evDeleted}
	if eff.kind != effDelete && a != Yes && a != No {
		le.mu.Lock()
		le.why = fmt.Errorf("redis %s: %w", le.locker.lane(eff.instance, le.resource).addr, why)
		le.mu.Unlock()
	}
	le.step(event{kind: kinds[eff.kind], instance: eff.instance, answer: a, repeated: repeated})
}

// trouble reports whether fewer than a quorum answered SET, and why, for the error of Acquire.
func (le *lease) trouble() (unavailable bool, why error) {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.machine.answered() < le.machine.quorum(), le.why
}

// arm sets the timer. If it has just fired, the machine sets it again.
func (le *lease) arm(in time.Duration) {
	if le.timer == nil {
		le.timer = le.locker.clock.AfterFunc(in, func() { le.step(event{kind: evTick}) })
		return
	}
	le.timer.Reset(in)
}

func (le *lease) disarm() {
	if le.timer != nil {
		le.timer.Stop()
	}
}

// settles waits until an abandoned attempt surely does not hold. It is false if the attempt may
// hold, or if the time is up.
func (le *lease) settles(timeUp <-chan struct{}) bool {
	select {
	case <-le.freed:
		return true
	case <-le.lost: // granted and lost
		return true
	case res := <-le.ended:
		return res != resultUnknown
	case <-timeUp:
		return false
	}
}

// Token returns false: Redlock's tokens are random, so a resource could not tell an old one
// from a new one.
func (le *lease) Token() (locks.Token, bool) { return 0, false }

// Expires returns the end of the validity: the moment of asking plus TTL, minus the allowance for
// clock drift. It has a monotonic reading and moves with extensions.
func (le *lease) Expires() (time.Time, bool) {
	return le.locker.origin.Add(time.Duration(le.until.Load())), true
}

// Lost is closed when the validity ends without an extension, when no majority of the
// instances has the key any more, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.lost }

// Release deletes the key on all instances. It waits until a quorum has confirmed, for at most
// Options.Timeout (twice that with one instance), even if ctx is done. If the lock was contended, it
// then waits for the other instances, at most as long again: otherwise a client that asks again at
// once would overtake all waiters that pause. ErrUnknown means that a quorum may carry the key until
// its lease time is over, while the deletion is repeated in the background; or that the keys were gone
// and an earlier, unanswered deletion may have deleted them.
func (le *lease) Release(ctx context.Context) error {
	return le.release.Do(le.resource, func() error {
		began := le.locker.now()
		le.step(event{kind: evRelease}) //nolint:contextcheck // goes on when ctx is done
		le.locker.drop(le)
		select {
		case <-le.lost:
			return fmt.Errorf("the lease had ended: %w", locks.ErrNotHeld)
		case res := <-le.ended:
			if res == resultOK && le.contended && !signals.Closed(le.cleared) {
				_, _ = le.locker.await(ctx, le.locker.now()-began, le.cleared)
			}
			return res.err()
		}
	})
}

func (r result) err() error {
	switch r {
	case resultNotHeld:
		return fmt.Errorf("a quorum of the keys was gone: %w", locks.ErrNotHeld)
	case resultUnknown:
		return fmt.Errorf("%w: %w", locks.ErrUnknown, locks.ErrUnavailable)
	default:
		return nil
	}
}
