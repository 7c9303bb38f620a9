package redlock

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// Keys and channels, apart by prefix so that no resource's name can collide.
const (
	keyPrefix     = "lock:"
	waitPrefix    = "wait:"
	channelPrefix = "wake:"
)

// deleteFor is how long a deletion is repeated for an instance that is away: a SET
// that was on its way when the network broke may arrive as late as that.
const deleteFor = time.Minute

// lease is one attempt and, once granted, the lease: the shell around the machine.
type lease struct {
	locker *Locker
	queue  *queue
	lane   int
	home   int // instance that keeps the queue of waiting processes; -1 if there is none

	setArgs, deleteArgs, homeArgs []any

	contended bool // it was denied before it was granted

	decided chan bool     // one value: granted or denied
	cleared chan struct{} // closed when denied or released and all have answered, or lost
	freed   chan struct{} // closed when denied and surely not held
	lost    chan struct{}
	ended   chan result // one value

	mu       sync.Mutex
	machine  machine
	assist   bool    // this step's commands are sent by its caller
	answered bool    // when denied: a quorum answered
	toldHome bool    // home was sent a deletion
	why      []error // by instance, why it did not answer; nil while all do
	timer    clock.Timer
	timerAt  time.Duration // 0 if it does not run

	until   atomic.Int64 // validity end, as time.Duration since locker.origin
	release sync.Once
	result  error
}

var _ locks.Lease = (*lease)(nil)

// newToken draws at least 128 bits, unless the lock makes its own.
func (l *Locker) newToken() string {
	if l.single != nil && l.single.Token != nil {
		return l.single.Token()
	}
	return rand.Text()
}

func (l *Locker) newLease(q *queue) *lease {
	var key, token any = keyPrefix + q.resource, l.newToken() // once for all arguments
	le := &lease{
		locker:     l,
		queue:      q,
		lane:       q.lane,
		home:       -1,
		setArgs:    []any{"set", key, token, "nx", "px", l.options.TTL.Milliseconds()},
		deleteArgs: l.scripts.release.call(1, key, token),
		decided:    make(chan bool, 1),
		cleared:    make(chan struct{}),
		freed:      make(chan struct{}),
		lost:       make(chan struct{}),
		ended:      make(chan result, 1),
		machine:    newMachine(l.rules),
	}
	if l.options.Wake == Publish {
		le.home = q.home
		le.homeArgs = l.scripts.releaseHome.call(2, key, waitPrefix+q.resource, token, "1", q.resource)
	}
	return le
}

// step gives the machine an event and does what it says. With one instance the caller
// sends its command itself.
func (le *lease) step(e event) {
	assist := le.locker.single != nil && (e.kind == evBegin || e.kind == evRelease)
	le.stepLocked(e, assist)
	if assist {
		le.locker.instances[0].lanes[le.lane].assist()
	}
}

func (le *lease) stepLocked(e event, assist bool) {
	le.mu.Lock()
	defer le.mu.Unlock()
	le.assist = assist
	e.now = le.locker.now()
	for _, eff := range le.machine.step(e) {
		le.apply(eff, e.now)
	}
}

func (le *lease) apply(eff effect, now time.Duration) {
	switch eff.kind {
	case effSet:
		if how := le.locker.single; how != nil && how.Set != nil {
			how.Set(le.attempt(evSet, now))
			return
		}
		le.send(eff, nil, le.setArgs, now+le.locker.timeout)
	case effExtend:
		if how := le.locker.single; how != nil && how.Prolong != nil {
			how.Prolong(le.attempt(evExtended, now))
			return
		}
		extend := le.locker.scripts.extend
		le.send(eff, extend, extend.call(1, le.setArgs[1], le.setArgs[2], le.setArgs[5]), now+le.locker.timeout)
	case effDelete:
		switch {
		case eff.instance == le.home:
			le.toldHome = true
			le.send(eff, le.locker.scripts.releaseHome, le.homeArgs, now+deleteFor)
		case le.locker.scripts.free != le.locker.scripts.release && le.until.Load() != 0: // it was granted
			args := slices.Clone(le.deleteArgs)
			args[1] = le.locker.scripts.free.sha
			le.send(eff, le.locker.scripts.free, args, now+deleteFor)
		default:
			le.send(eff, le.locker.scripts.release, le.deleteArgs, now+deleteFor)
		}
	case effTimer:
		le.arm(eff.at, now)
	case effGranted:
		le.until.Store(int64(eff.at))
		le.decided <- true
	case effRenewed:
		le.until.Store(int64(eff.at))
	case effDenied:
		le.answered = le.machine.answered() >= le.machine.quorum()
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

func (le *lease) attempt(kind eventKind, now time.Duration) Attempt {
	return Attempt{Key: le.setArgs[1].(string), Token: le.setArgs[2].(string), lease: le, kind: kind, deadline: now + le.locker.timeout}
}

func (le *lease) send(eff effect, s *script, args []any, deadline time.Duration) {
	le.locker.instances[eff.instance].send(le.lane, &command{
		script:   s,
		args:     args,
		deadline: deadline,
		repeat:   eff.kind == effDelete,
		to:       le,
		kind:     eff.kind,
		instance: eff.instance,
		assisted: le.assist,
	})
}

// receive takes an instance's answer from its lane.
func (le *lease) receive(c *command, value any, a answer) {
	if c.kind != effDelete {
		le.note(c.instance, c.why)
	}
	kinds := [...]eventKind{effSet: evSet, effExtend: evExtended, effDelete: evDeleted}
	le.step(event{kind: kinds[c.kind], instance: c.instance, answer: a, repeated: c.repeated})
	if c.kind != effDelete {
		return
	}
	code, _ := value.(int64) // see release_home.lua
	if code&4 != 0 {
		le.locker.untold.Do(func() {
			le.locker.log.Warn("redis refuses to tell waiters of a release: they try again when the lease would have ended", "addr", le.locker.instances[c.instance].lanes[0].addr)
		})
	}
	if c.instance == le.home {
		le.locker.homeAnswered(le, code&2 != 0)
	}
}

// arm makes the timer fire at the time at the latest. A timer that fires earlier is
// left alone: the machine says again when it wants to be called.
func (le *lease) arm(at, now time.Duration) {
	switch {
	case le.timer == nil:
		le.timer = le.locker.clock.AfterFunc(at-now, le.tick)
	case le.timerAt == 0 || at < le.timerAt:
		le.timer.Reset(at - now)
	default:
		return
	}
	le.timerAt = at
}

func (le *lease) tick() {
	le.mu.Lock()
	le.timerAt = 0
	le.mu.Unlock()
	le.step(event{kind: evTick})
}

func (le *lease) disarm() {
	if le.timer != nil {
		le.timer.Stop()
	}
	le.timerAt = 0
}

// settles waits until it is known whether an attempt that was given up may still
// hold. It is false if it may, or if it is not known when the time is up.
func (le *lease) settles(timeUp <-chan time.Time) bool {
	select {
	case <-le.freed:
		return true
	case <-le.lost: // granted, and over before it was given up
		return true
	case res := <-le.ended:
		return res != resultUnknown
	case <-timeUp:
		return false
	}
}

// took is how long ago the asking began.
func (le *lease) took() time.Duration {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.locker.now() - le.machine.start
}

// note keeps why an instance did not answer.
func (le *lease) note(instance int, why error) {
	if why == nil {
		return
	}
	le.mu.Lock()
	defer le.mu.Unlock()
	if le.why == nil {
		le.why = make([]error, le.machine.n)
	}
	le.why[instance] = why
}

// troubles names what kept instances from answering, for the end of an error.
func (le *lease) troubles() (text string) {
	le.mu.Lock()
	defer le.mu.Unlock()
	for i, err := range le.why {
		if err != nil {
			text += fmt.Sprintf("; redis %s: %v", le.locker.instances[i].lanes[0].addr, err)
		}
	}
	return text
}

// heard says whether a quorum answered at all.
func (le *lease) heard() bool {
	le.mu.Lock()
	defer le.mu.Unlock()
	return le.machine.answered() >= le.machine.quorum()
}

// abandon gives up an attempt of which it is not known how far it got.
func (le *lease) abandon() {
	le.step(event{kind: evGiveUp})
	le.step(event{kind: evRelease}) // if it had just been granted
}

func (le *lease) isFreed() bool {
	return signals.Closed(le.freed)
}

// Token says that there is none: Redlock's tokens are random, so the resource could
// not tell an old one from a new one.
func (le *lease) Token() (locks.Token, bool) { return 0, false }

// Expires is the end of the validity: the moment of asking plus TTL, less the
// allowance for clocks. It carries a monotonic reading and moves with extensions.
func (le *lease) Expires() (time.Time, bool) {
	return le.locker.origin.Add(time.Duration(le.until.Load())), true
}

// Lost is closed when the validity ended without an extension, when a majority of
// the instances carries another token, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.lost }

// Release deletes the key on all instances and waits until a quorum confirmed it,
// at most Options.Timeout (with one instance twice that); with Poll, if the lock had to be
// asked for more than once, then for the others, at most as long again: who asks again at
// once would else get ahead of all that pause. It goes on when ctx is done, which is the
// moment when a release is needed most. ErrUnknown says that a quorum may carry the key
// until the lease time is over; the deletion is repeated in the background. It is also what
// a release says that found the keys gone, of which an earlier deletion that had no answer may
// have been the reason.
func (le *lease) Release(ctx context.Context) error {
	le.release.Do(func() { le.result = le.releaseOnce(ctx) })
	return le.result
}

func (le *lease) releaseOnce(ctx context.Context) error {
	l := le.locker
	began := l.now()
	l.beginRelease(le)
	le.step(event{kind: evRelease})
	if !le.hasToldHome() { // no answer will come
		l.homeAnswered(le, false)
	}
	l.drop(le)
	select {
	case <-le.lost:
		return fmt.Errorf("release %q: the lease had ended: %w", le.queue.resource, locks.ErrNotHeld)
	case res := <-le.ended:
		if res == resultOK && le.contended && l.options.Wake == Poll && l.single == nil && !signals.Closed(le.cleared) {
			_, _, _ = await(ctx, l, l.now()-began, le.cleared)
		}
		switch res {
		case resultNotHeld:
			return fmt.Errorf("release %q: a quorum of the keys was gone: %w", le.queue.resource, locks.ErrNotHeld)
		case resultGone:
			return fmt.Errorf("release %q: a quorum of the keys is gone, perhaps only by a deletion that had no answer: %w", le.queue.resource, locks.ErrUnknown)
		case resultUnknown:
			return fmt.Errorf("release %q: %w: %w", le.queue.resource, locks.ErrUnknown, locks.ErrUnavailable)
		case resultOK:
		}
		return nil
	}
}
