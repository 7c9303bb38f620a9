package redlock

import (
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	mrand "math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/seed"
	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// Config configures a Locker. Only Addrs is required.
type Config struct {
	// Addrs are the independent primaries, host:port each, preferably an odd number. All
	// clients of a lock must use the same ones in the same order.
	Addrs []string
	// Options configures the lock; the zero value means DefaultOptions.
	Options Options
	// Dial connects to an instance; nil dials its address by TCP.
	Dial Dialer
	// Clock is the process's clock; nil is the system's.
	Clock clock.Clock
	// Seed of the random pauses, different for each client; zero draws one.
	Seed seed.Seed
}

// Locker is one client of the lock. All its callers share its connections.
type Locker struct {
	options Options
	rules   rules
	how     Single
	clock   clock.Clock
	origin  time.Time
	lanes   []*lane // one to each instance, or both to the only one
	hash    maphash.Seed

	release, free, extend string // hashes of the scripts

	messages, wakeups atomic.Uint64

	calls   *locks.Calls   // of Acquire
	running sync.WaitGroup // background goroutines

	mu     sync.Mutex
	held   map[*lease]struct{}
	pauses *mrand.Rand
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
	_ locks.WakeupCounter  = (*Locker)(nil)
)

// New returns a client. It does not wait for the instances. The error wraps locks.ErrInvalid.
func New(cfg Config) (*Locker, error) { return NewSingle(cfg, Single{Name: "redlock"}) }

// NewSingle returns a client of a lock on one instance; how replaces parts of Redlock. The error wraps
// locks.ErrInvalid.
func NewSingle(cfg Config, how Single) (*Locker, error) {
	if how.Token == nil {
		how.Token = rand.Text // at least 128 bits
	}
	if how.Waiter == nil {
		how.Waiter = pausing
	}
	if how.Close == nil {
		how.Close = func() error { return nil }
	}
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	if err := cfg.validate(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", how.Name, err), how.Close())
	}
	cfg.Clock = cmp.Or(cfg.Clock, clock.System())
	cfg.Seed = cmp.Or(cfg.Seed, cfg.Seed.Child(rand.Text()))
	l := &Locker{
		options: cfg.Options,
		rules: rules{
			n:          len(cfg.Addrs),
			ttl:        cfg.Options.TTL,
			drift:      cfg.Options.drift(),
			timeout:    cfg.Options.Timeout,
			sequential: cfg.Options.Sequential,
			extend:     cfg.Options.Extend,
		},
		how:    how,
		calls:  locks.NewCalls(),
		clock:  cfg.Clock,
		origin: cfg.Clock.Now(),
		held:   map[*lease]struct{}{},
		pauses: cfg.Seed.Rand(),
		hash:   maphash.MakeSeed(),
	}
	release := cmp.Or(how.Release, Release)
	free := cmp.Or(how.Free, release)
	l.release, l.free, l.extend = hash(release), hash(free), hash(Extend)
	addrs, single := cfg.Addrs, len(cfg.Addrs) == 1
	if single { // it works on one pipeline while the answers of the other are read
		addrs = []string{addrs[0], addrs[0]}
	}
	for _, addr := range addrs {
		ln := &lane{
			locker: l, addr: addr, client: cfg.Client(addr, release, free, Extend),
			inline: single, turn: make(chan struct{}, 1),
		}
		l.lanes = append(l.lanes, ln)
		l.running.Go(ln.run)
	}
	return l, nil
}

// lane is the one to the instance that has all commands for the resource, so that they stay in their order.
func (l *Locker) lane(instance int, resource string) *lane {
	if l.rules.n == 1 {
		instance = int(maphash.String(l.hash, resource) % uint64(len(l.lanes)))
	}
	return l.lanes[instance]
}

func hash(script string) string { return redis.NewScript(script).Hash() }

func (c Config) validate() error {
	if len(c.Addrs) == 0 {
		return fmt.Errorf("no instances: want at least one address: %w", locks.ErrInvalid)
	}
	for i, addr := range c.Addrs {
		if addr == "" || slices.Index(c.Addrs, addr) < i {
			return fmt.Errorf("instance %d, %q: want an address of its own, host:port: %w", i, addr, locks.ErrInvalid)
		}
	}
	return c.Options.Validate()
}

// MessagesSent counts the commands sent and the answers received.
func (l *Locker) MessagesSent() uint64 { return l.messages.Load() }

// Wakeups counts the messages after which a waiter tried again; 0 where it pauses between two tries.
func (l *Locker) Wakeups() uint64 { return l.wakeups.Load() }

func (l *Locker) now() time.Duration { return l.clock.Now().Sub(l.origin) }

// Acquire blocks until the resource is held or ctx is done. It goes on trying while a quorum of the
// instances is unreachable; the error then wraps locks.ErrUnavailable, too, and says why one of them did
// not answer. When ctx ends, Acquire first deletes its keys, for up to Options.Timeout. Only if a quorum
// may still carry this call's token, the error is locks.ErrUnknown: the resource may be blocked for a TTL.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	ctx, done, err := l.calls.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
	defer done()
	le, err := l.compete(ctx, resource)
	if err != nil {
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
	return le, nil
}

// compete makes attempt after attempt, with a pause between them.
func (l *Locker) compete(ctx context.Context, resource string) (*lease, error) {
	var doubtful []*lease // attempts that may still get a quorum
	wait, done := l.how.Waiter(l.lane(0, resource).do, resource)
	defer done()
	for contended := false; ; contended = true {
		le := l.newLease(resource)
		le.contended = contended
		le.step(event{kind: evBegin}) //nolint:contextcheck // evRelease ends an attempt, not ctx
		var err error
		select {
		case granted := <-le.decided:
			if granted && l.adopt(le) {
				return le, nil
			}
			err = l.rest(ctx, le, wait)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		doubtful = append(doubtful, le)
		if err != nil {
			// The attempt may be undecided, or just granted.
			le.step(event{kind: evRelease}) //nolint:contextcheck // ctx is done
			return nil, l.failure(err, doubtful)
		}
		doubtful = slices.DeleteFunc(doubtful, func(le *lease) bool { return signals.Closed(le.freed) })
	}
}

// rest waits before the next attempt. First the instances must have answered all commands of the denied
// attempt, so that the pause relieves them, too. Otherwise attempts pile up on a busy instance or
// machine and delay the holder's release: with 16 clients and a pause of 1 ms that cost two thirds of
// all grants. rest waits for an instance that hangs twice as long as the attempt has taken, or for Delay
// if that is more.
func (l *Locker) rest(ctx context.Context, le *lease, wait wait) error {
	limit := min(max(2*(l.now()-le.began), l.options.Delay), l.rules.timeout)
	if _, err := l.await(ctx, limit, le.cleared); err != nil {
		return err
	}
	atMost, woken := time.Duration(-1), (<-chan struct{})(nil)
	if unavailable, _ := le.trouble(); !unavailable {
		atMost, woken = wait()
	}
	if atMost < 0 {
		atMost = l.delay()
	}
	heard, err := l.await(ctx, atMost, woken)
	if heard {
		l.wakeups.Add(1)
	}
	return err
}

// adopt registers a granted hold as a lease. It is false if the client closes, or if the hold is
// already lost.
func (l *Locker) adopt(le *lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls.Open().Err() != nil || signals.Closed(le.lost) {
		return false
	}
	l.held[le] = struct{}{}
	return true
}

// drop removes a lease from the held ones.
func (l *Locker) drop(le *lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, le)
}

// delay returns the pause before the next attempt.
func (l *Locker) delay() time.Duration {
	d := l.options.Delay
	if l.options.FixedDelay {
		return d
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return d/2 + time.Duration(l.pauses.Int64N(int64(d)+1))
}

// await waits up to d for a value of the channel, or until it is closed. It returns the cause if ctx ends.
func (l *Locker) await(ctx context.Context, d time.Duration, channel <-chan struct{}) (heard bool, err error) {
	over, stop := clock.After(l.clock, d)
	defer stop()
	select {
	case <-channel:
		return true, nil
	case <-over:
		return false, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// failure returns the error of an Acquire that ended because of why. It waits for the
// deletions that show whether the lock is surely not held.
func (l *Locker) failure(why error, doubtful []*lease) error {
	outcome := locks.ErrNotAcquired
	timeUp, stop := clock.After(l.clock, l.rules.timeout)
	defer stop()
	for _, le := range doubtful {
		if !le.settles(timeUp) {
			outcome = locks.ErrUnknown
			break
		}
	}
	if unavailable, last := doubtful[len(doubtful)-1].trouble(); unavailable {
		if last != nil {
			why = fmt.Errorf("%w: %w", why, last)
		}
		return fmt.Errorf("%w: %w: fewer than %d of %d redis instances answer: %w",
			outcome, locks.ErrUnavailable, l.rules.quorum(), l.rules.n, why)
	}
	return fmt.Errorf("%w: %w", outcome, why)
}

// Close ends all waits, gives up all leases (their Lost is closed) and releases
// them at the instances that answer within Options.Timeout.
func (l *Locker) Close() error {
	if !l.calls.Stop() {
		return nil
	}
	l.mu.Lock()
	held := slices.Collect(maps.Keys(l.held))
	l.mu.Unlock()
	for _, le := range held {
		le.step(event{kind: evClose})
	}
	l.calls.Wait()
	var flushed sync.WaitGroup // a ping is answered after all earlier commands of its lane
	for _, ln := range l.lanes {
		flushed.Go(func() { _, _ = ln.do("ping") })
	}
	done := make(chan struct{})
	l.running.Go(func() {
		flushed.Wait()
		close(done)
	})
	_, _ = clock.Await(l.clock, l.rules.timeout, done)
	var errs []error
	for _, ln := range l.lanes {
		errs = append(errs, ln.close())
	}
	l.running.Wait()
	if err := errors.Join(append(errs, l.how.Close())...); err != nil {
		return fmt.Errorf("close the clients of redis: %w", err)
	}
	return nil
}

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
