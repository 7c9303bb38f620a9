package redlock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	mrand "math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
)

// Config is what a Locker is made of. Only Addrs is required.
type Config struct {
	// Addrs are the independent primaries, host:port each, an odd number of them for
	// preference. All clients of a lock name the same ones in the same order.
	Addrs []string
	// Options is how the lock works; the zero value means DefaultOptions.
	Options Options
	// Dial connects to an instance; nil dials its address by TCP.
	Dial Dialer
	// Clock is the process's clock unless a test replaces it.
	Clock clock.Clock
	// Seed of the random pauses. Clients need different ones, or they pause in step; zero
	// draws one.
	Seed seed.Seed
	// Log takes what is worth knowing about the instances; nil discards it.
	Log *slog.Logger
}

// Locker is one client of the lock. All its callers share its connections.
type Locker struct {
	link
	options  Options
	rules    rules
	single   *Single // nil for Redlock
	scripts  scripts
	origin   time.Time
	hashSeed maphash.Seed
	channel  string        // on which this client is woken
	count    atomic.Uint64 // messages
	wakeups  atomic.Uint64
	untold   sync.Once // a release of which a server refused to tell waiters

	instances     []*instance
	subscriptions []*subscription
	running       sync.WaitGroup // lanes and subscriptions
	calls         sync.WaitGroup // of Acquire
	stop          chan struct{}  // closed when Close begins

	mu        sync.Mutex
	closing   bool
	queues    map[string]*queue
	held      map[*lease]struct{}
	expecting map[string][]*queue // who hears of releases, with Single.Publishes
	pauses    *mrand.Rand
	over      chan struct{} // closed when Close is over
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
	_ locks.WakeupCounter  = (*Locker)(nil)
)

// New returns a client. It does not wait for the instances: one that is down counts
// as one that does not answer. The error wraps locks.ErrInvalid.
func New(cfg Config) (*Locker, error) { return open(cfg, nil) }

func open(cfg Config, how *Single) (*Locker, error) {
	name := "redlock"
	if how != nil {
		name = how.Name
	}
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &Locker{
		options: cfg.Options,
		rules: rules{
			n:          len(cfg.Addrs),
			ttl:        cfg.Options.TTL,
			drift:      cfg.Options.drift(),
			timeout:    cfg.Options.Timeout,
			sequential: cfg.Options.Order == Sequential,
			extend:     cfg.Options.Extend,
		},
		single:    how,
		scripts:   newScripts(how),
		origin:    cfg.Clock.Now(),
		hashSeed:  maphash.MakeSeed(),
		stop:      make(chan struct{}),
		queues:    map[string]*queue{},
		held:      map[*lease]struct{}{},
		expecting: map[string][]*queue{},
		over:      make(chan struct{}),
		channel:   channelPrefix + rand.Text(),
	}
	if cfg.Seed == 0 {
		cfg.Seed = cfg.Seed.Child(l.channel)
	}
	l.pauses = cfg.Seed.Rand()
	l.link = link{
		log:      cfg.Log,
		clock:    cfg.Clock,
		now:      func() time.Duration { return cfg.Clock.Now().Sub(l.origin) },
		timeout:  cfg.Options.Timeout,
		dialer:   cfg.dialer(),
		messages: &l.count,
		closed:   make(chan struct{}),
	}
	l.start(cfg.Addrs)
	return l, nil
}

// Dialer connects to the instance at an address, within the timeout.
type Dialer func(ctx context.Context, addr string, timeout time.Duration) (net.Conn, error)

func dialTCP(ctx context.Context, addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	return d.DialContext(ctx, "tcp", addr)
}

func (c Config) dialer() Dialer {
	if c.Dial != nil {
		return c.Dial
	}
	return dialTCP
}

func (c Config) validate() error {
	if len(c.Addrs) == 0 {
		return fmt.Errorf("no instances: want at least one address: %w", locks.ErrInvalid)
	}
	seen := map[string]bool{}
	for i, addr := range c.Addrs {
		if addr == "" || seen[addr] {
			return fmt.Errorf("instance %d, %q: want an address of its own, host:port: %w", i, addr, locks.ErrInvalid)
		}
		seen[addr] = true
	}
	return c.Options.Validate()
}

func (l *Locker) start(addrs []string) {
	for _, addr := range addrs {
		in := &instance{}
		for range lanesPerInstance {
			ln := newLane(&l.link, addr)
			in.lanes = append(in.lanes, ln)
			l.running.Go(ln.run)
		}
		l.instances = append(l.instances, in)
		l.subscriptions = append(l.subscriptions, &subscription{locker: l, addr: addr})
	}
}

// MessagesSent counts the commands sent and the answers received.
func (l *Locker) MessagesSent() uint64 { return l.count.Load() }

// Wakeups counts the pauses, messages and turns in this process's own queue after which a
// waiter tried again.
func (l *Locker) Wakeups() uint64 { return l.wakeups.Load() }

// Acquire blocks until the resource is held or ctx is done. While a quorum of the
// instances is away it goes on trying; the error then wraps locks.ErrUnavailable
// too, and names what each instance said last. When ctx ends, what was acquired in part is released first, which may take
// up to Options.Timeout; only if that could not be confirmed, and a quorum may
// carry this call's token, the error is locks.ErrUnknown: until TTL is over, the
// resource may be blocked.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	q, turn, ok := l.join(resource)
	if !ok {
		return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
	}
	defer l.calls.Done()
	defer l.forget(q)
	if turn != nil {
		var err error
		select {
		case <-turn:
			l.wakeups.Add(1)
		case <-ctx.Done():
			err = fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, ctx.Err())
		case <-l.stop:
			err = fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
		}
		if err != nil {
			l.abandon(q, turn)
			return nil, err
		}
	}
	le, err := l.compete(ctx, q)
	if err != nil {
		l.leave(q)
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
	return le, nil
}

// compete is the part of Acquire that the first of a queue plays: attempt after
// attempt, with a pause or a wait for a wake-up between them.
func (l *Locker) compete(ctx context.Context, q *queue) (*lease, error) {
	var doubtful []*lease // denied attempts that may still come to carry a quorum
	enrolled, unavailable := false, false
	troubles := "" // of the last attempt that had some
	fail := func(why error) (*lease, error) {
		if enrolled {
			l.withdraw(q)
		}
		return nil, l.failure(why, doubtful, unavailable, troubles)
	}
	if l.mustYield(ctx, q) {
		if _, err := l.enrol(ctx, q, &enrolled); err != nil {
			return fail(err)
		}
	}
	for attempt := 0; ; attempt++ {
		le := l.newLease(q)
		le.step(event{kind: evBegin})
		var granted bool
		var err error
		select {
		case granted = <-le.decided:
		case <-ctx.Done():
			err = ctx.Err()
		case <-l.stop:
			err = locks.ErrClosed
		}
		if granted {
			le.contended = attempt > 0
			err = l.adopt(le)
		}
		switch {
		case granted && err == nil:
			if enrolled {
				l.withdraw(q)
			}
			return le, nil
		case errors.Is(err, locks.ErrNotHeld): // over before we looked: it carries nothing that lasts
			unavailable = false
		case err != nil:
			le.abandon()
			doubtful = append(doubtful, le)
			return fail(err)
		default:
			unavailable = !le.answered
			doubtful = keepDoubtful(append(doubtful, le))
			troubles = cmp.Or(le.troubles(), troubles)
		}
		if err := l.rest(ctx, q, le, attempt, !unavailable, &enrolled); err != nil {
			return fail(err)
		}
		l.wakeups.Add(1)
	}
}

// rest waits until the next attempt makes sense.
func (l *Locker) rest(ctx context.Context, q *queue, le *lease, attempt int, answered bool, enrolled *bool) error {
	if l.options.Wake == Poll {
		if err := l.clear(ctx, le); err != nil {
			return err
		}
	}
	switch {
	case answered && l.single != nil && l.single.Publishes:
		return l.hear(ctx, q)
	case l.options.Wake == Poll || !answered:
		return l.pause(ctx, l.delay())
	}
	return l.restPublished(ctx, q, attempt, enrolled)
}

// clear waits until the instances are done with a denied attempt, so that the pause
// before the next one is a pause for them too. Where instances or this machine are the
// bottleneck, clients that do not wait pile up attempts that delay the holder's release
// behind them: with 16 of them and a pause of 1 ms that cost two thirds of all grants.
// An instance that hangs is waited for twice as long as the attempt has taken, or for
// Delay if that is more.
func (l *Locker) clear(ctx context.Context, le *lease) error {
	limit := min(max(2*le.took(), l.options.Delay), l.timeout)
	_, _, err := await(ctx, l, limit, le.cleared)
	return err
}

func keepDoubtful(holds []*lease) []*lease {
	kept := holds[:0]
	for _, le := range holds {
		if !le.isFreed() {
			kept = append(kept, le)
		}
	}
	return kept
}

// failure is the error of an Acquire that ended because of why. It waits for the
// deletions that decide whether the lock is surely not held.
func (l *Locker) failure(why error, doubtful []*lease, unavailable bool, troubles string) error {
	outcome := locks.ErrNotAcquired
	if len(doubtful) > 0 {
		timer := l.clock.NewTimer(l.timeout)
		defer timer.Stop()
		for _, le := range doubtful {
			if !le.settles(timer.C()) {
				outcome = locks.ErrUnknown
				break
			}
		}
		last := doubtful[len(doubtful)-1]
		unavailable = unavailable || !last.heard()
		troubles = cmp.Or(last.troubles(), troubles)
	}
	if unavailable {
		return fmt.Errorf("%w: %w: fewer than %d of %d redis instances answer: %w%s",
			outcome, locks.ErrUnavailable, l.rules.quorum(), l.rules.n, why, troubles)
	}
	return fmt.Errorf("%w: %w", outcome, why)
}

// pause waits for d, the end of ctx or Close.
func (l *Locker) pause(ctx context.Context, d time.Duration) error {
	_, _, err := await[struct{}](ctx, l, d, nil)
	return err
}

// await waits for a value, or the close, of the channel. It did not come within the limit
// if came is false and err nil; otherwise err is why the wait ended: ctx or Close.
func await[T any](ctx context.Context, l *Locker, limit time.Duration, channel <-chan T) (value T, came bool, err error) {
	timer := l.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case value = <-channel:
		return value, true, nil
	case <-timer.C():
		return value, false, nil
	case <-ctx.Done():
		return value, false, ctx.Err()
	case <-l.stop:
		return value, false, locks.ErrClosed
	}
}

// delay is the pause before the next attempt.
func (l *Locker) delay() time.Duration {
	if l.options.Retry == Fixed {
		return l.options.Delay
	}
	return l.draw(l.options.Delay/2, l.options.Delay+l.options.Delay/2)
}

// draw is a random duration between the bounds.
func (l *Locker) draw(low, high time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return low + time.Duration(l.pauses.Int64N(int64(high-low)+1))
}

// Close ends all waits, gives up all leases (their Lost is closed) and releases
// them at the instances that answer within Options.Timeout.
func (l *Locker) Close() error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		<-l.over
		return nil
	}
	l.closing = true
	held := make([]*lease, 0, len(l.held))
	for le := range l.held {
		held = append(held, le)
	}
	l.mu.Unlock()

	close(l.stop)
	for _, le := range held {
		le.step(event{kind: evClose})
	}
	l.calls.Wait()
	l.flush()
	close(l.closed)
	var errs []error
	for i, in := range l.instances {
		for _, ln := range in.lanes {
			errs = append(errs, ln.client.Close())
		}
		errs = append(errs, l.subscriptions[i].close())
	}
	l.running.Wait()
	close(l.over)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the clients of redis: %w", err)
	}
	return nil
}

// flush waits until the lanes have dealt with everything that they were given: a
// last command goes through each of them.
func (l *Locker) flush() {
	done := make(chan struct{}, len(l.instances)*lanesPerInstance)
	args := []any{"ping"}
	for i, in := range l.instances {
		for _, ln := range in.lanes {
			ln.send(&command{args: args, deadline: l.now() + l.timeout, to: receiverFunc(func(any) { done <- struct{}{} }), instance: i})
		}
	}
	timer := l.clock.NewTimer(l.timeout)
	defer timer.Stop()
	for range cap(done) {
		select {
		case <-done:
		case <-timer.C():
			return
		}
	}
}
