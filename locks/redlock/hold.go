package redlock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

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

// hold is one attempt and, once granted, the lease: the shell around the machine.
type hold struct {
	locker *Locker
	line   *line
	lane   int
	home   int // instance that keeps the line of waiting processes; -1 if there is none

	setArgs, extendArgs, deleteArgs, homeArgs []any

	decided chan bool     // one value: granted or denied
	cleared chan struct{} // closed when denied and all have answered
	freed   chan struct{} // closed when denied and surely not held
	lost    chan struct{}
	ended   chan result // one value

	mu       sync.Mutex
	machine  machine
	answered bool // when denied: a quorum answered
	toldHome bool // home was sent a deletion
	timer    clock.Timer
	timerAt  time.Duration // 0 if it does not run

	until   atomic.Int64 // validity end, as time.Duration since locker.origin
	release sync.Once
	result  error
}

var _ locks.Lease = (*hold)(nil)

func (l *Locker) newHold(ln *line) (*hold, error) {
	token, err := l.newToken()
	if err != nil {
		return nil, err
	}
	key := keyPrefix + ln.resource
	ttl := l.options.TTL.Milliseconds()
	h := &hold{
		locker:     l,
		line:       ln,
		lane:       ln.lane,
		home:       -1,
		setArgs:    []any{"set", key, token, "nx", "px", ttl},
		deleteArgs: l.scripts.release.call(1, key, token),
		decided:    make(chan bool, 1),
		cleared:    make(chan struct{}),
		freed:      make(chan struct{}),
		lost:       make(chan struct{}),
		ended:      make(chan result, 1),
		machine:    newMachine(l.rules),
	}
	if l.options.Extend {
		h.extendArgs = l.scripts.extend.call(1, key, token, ttl)
	}
	if l.options.Wake == Publish {
		h.home = ln.home
		h.homeArgs = l.scripts.releaseHome.call(2, key, waitPrefix+ln.resource, token, "1", ln.resource)
	}
	return h, nil
}

// serveOwn makes the deletion leave other processes asleep, because this one goes
// on with its own next waiter. It is called before the deletion.
func (h *hold) serveOwn() {
	if h.homeArgs != nil {
		h.homeArgs[6] = "0"
	}
}

// step gives the machine an event and does what it says.
func (h *hold) step(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.now = h.locker.now()
	for _, eff := range h.machine.step(e) {
		h.apply(eff, e.now)
	}
}

func (h *hold) apply(eff effect, now time.Duration) {
	switch eff.kind {
	case effSet:
		h.send(eff, nil, h.setArgs, now+h.locker.timeout)
	case effExtend:
		h.send(eff, h.locker.scripts.extend, h.extendArgs, now+h.locker.timeout)
	case effDelete:
		if eff.instance == h.home {
			h.toldHome = true
			h.send(eff, h.locker.scripts.releaseHome, h.homeArgs, now+deleteFor)
		} else {
			h.send(eff, h.locker.scripts.release, h.deleteArgs, now+deleteFor)
		}
	case effTimer:
		h.arm(eff.at, now)
	case effGranted:
		h.until.Store(int64(eff.at))
		h.decided <- true
	case effRenewed:
		h.until.Store(int64(eff.at))
	case effDenied:
		h.answered = h.machine.answered() >= h.machine.quorum()
		h.disarm()
		h.decided <- false
	case effCleared:
		close(h.cleared)
	case effFreed:
		close(h.freed)
	case effLost:
		h.disarm()
		close(h.lost)
		h.locker.drop(h)
	case effEnded:
		h.disarm()
		h.ended <- eff.result
	}
}

func (h *hold) send(eff effect, s *script, args []any, deadline time.Duration) {
	h.locker.instances[eff.instance].send(h.lane, &command{
		script:   s,
		args:     args,
		deadline: deadline,
		repeat:   eff.kind == effDelete,
		to:       h,
		kind:     eff.kind,
		instance: eff.instance,
	})
}

// receive takes an instance's answer from its lane.
func (h *hold) receive(c *command, value any, a answer) {
	kinds := [...]eventKind{effSet: evSet, effExtend: evExtended, effDelete: evDeleted}
	h.step(event{kind: kinds[c.kind], instance: c.instance, answer: a})
	if c.kind == effDelete && c.instance == h.home {
		code, _ := value.(int64)
		h.locker.homeAnswered(h, code&2 != 0)
	}
}

// arm makes the timer fire at the time at the latest. A timer that fires earlier is
// left alone: the machine says again when it wants to be called.
func (h *hold) arm(at, now time.Duration) {
	switch {
	case h.timer == nil:
		h.timer = h.locker.clock.AfterFunc(at-now, h.tick)
	case h.timerAt == 0 || at < h.timerAt:
		h.timer.Reset(at - now)
	default:
		return
	}
	h.timerAt = at
}

func (h *hold) tick() {
	h.mu.Lock()
	h.timerAt = 0
	h.mu.Unlock()
	h.step(event{kind: evTick})
}

func (h *hold) disarm() {
	if h.timer != nil {
		h.timer.Stop()
	}
	h.timerAt = 0
}

// settles waits until it is known whether an attempt that was given up may still
// hold. It is false if it may, or if it is not known when the time is up.
func (h *hold) settles(timeUp <-chan time.Time) bool {
	select {
	case <-h.freed:
		return true
	case <-h.lost: // granted, and over before it was given up
		return true
	case res := <-h.ended:
		return res != resultUnknown
	case <-timeUp:
		return false
	}
}

// took is how long ago the asking began.
func (h *hold) took() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.locker.now() - h.machine.start
}

// heard says whether a quorum answered at all.
func (h *hold) heard() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.machine.answered() >= h.machine.quorum()
}

func (h *hold) hasToldHome() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.toldHome
}

// abandon gives up an attempt of which it is not known how far it got.
func (h *hold) abandon() {
	h.step(event{kind: evGiveUp})
	h.step(event{kind: evRelease}) // if it had just been granted
}

func (h *hold) isFreed() bool {
	select {
	case <-h.freed:
		return true
	default:
		return false
	}
}

// Token says that there is none: Redlock's tokens are random, so the resource could
// not tell an old one from a new one.
func (h *hold) Token() (locks.Token, bool) { return 0, false }

// Expires is the end of the validity: the moment of asking plus TTL, less the
// allowance for clocks. It carries a monotonic reading and moves with extensions.
func (h *hold) Expires() (time.Time, bool) {
	return h.locker.origin.Add(time.Duration(h.until.Load())), true
}

// Lost is closed when the validity ended without an extension, when a majority of
// the instances carries another token, and by Close.
func (h *hold) Lost() <-chan struct{} { return h.lost }

// Release deletes the key on all instances and waits until a quorum confirmed it,
// at most Options.Timeout. It goes on when ctx is done, which is the moment when
// a release is needed most. ErrUnknown says that a quorum may carry the key until
// the lease time is over; the deletion is repeated in the background.
func (h *hold) Release(context.Context) error {
	h.release.Do(func() { h.result = h.releaseOnce() })
	return h.result
}

func (h *hold) releaseOnce() error {
	l := h.locker
	l.beginRelease(h)
	h.step(event{kind: evRelease})
	if !h.hasToldHome() { // no answer will come
		l.homeAnswered(h, false)
	}
	l.drop(h)
	select {
	case <-h.lost:
		return fmt.Errorf("release %q: the lease had ended: %w", h.line.resource, locks.ErrNotHeld)
	case res := <-h.ended:
		switch res {
		case resultNotHeld:
			return fmt.Errorf("release %q: a quorum of the keys was gone: %w", h.line.resource, locks.ErrNotHeld)
		case resultUnknown:
			return fmt.Errorf("release %q: %w: %w", h.line.resource, locks.ErrUnknown, locks.ErrUnavailable)
		case resultOK:
		}
		return nil
	}
}
