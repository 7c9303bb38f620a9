package redlock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	mrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/seed"
)

// Instance is one of the Redis primaries.
type Instance struct {
	Name string // for logs
	Addr string // host:port
}

// Config is what a Locker is made of. Only Addrs is required.
type Config struct {
	// Addrs are the independent primaries, an odd number of them for preference. All
	// clients of a lock name the same ones in the same order.
	Addrs []Instance
	// Options is how the lock works; the zero value means DefaultOptions.
	Options Options
	// Access is the user, password, database and TLS; the zero value has none.
	Access Access
	// Clock is the process's clock unless a test replaces it.
	Clock clock.Clock
	// Seed of the random pauses.
	Seed seed.Seed
	// Random is where tokens are drawn from: crypto/rand if nil.
	Random io.Reader
	// Log takes what is worth knowing about the instances; nil discards it.
	Log *slog.Logger
}

// Locker is one client of the lock. All its callers share its connections.
type Locker struct {
	link
	options  Options
	rules    rules
	scripts  scripts
	origin   time.Time
	hashSeed maphash.Seed
	channel  string // on which this client is woken
	random   io.Reader
	count    atomic.Uint64 // messages

	instances []*instance
	ears      []*ear
	running   sync.WaitGroup // lanes and ears
	calls     sync.WaitGroup // of Acquire
	stop      chan struct{}  // closed when Close begins

	mu      sync.Mutex
	closing bool
	lines   map[string]*line
	held    map[*hold]struct{}
	pauses  *mrand.Rand
	over    chan struct{} // closed when Close is over
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
)

// New returns a client. It does not wait for the instances: one that is down counts
// as one that does not answer. The error wraps locks.ErrInvalid.
func New(cfg Config) (*Locker, error) {
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("redlock: %w", err)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Random == nil {
		cfg.Random = rand.Reader
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
		scripts:  newScripts(),
		origin:   cfg.Clock.Now(),
		hashSeed: maphash.MakeSeed(),
		random:   cfg.Random,
		stop:     make(chan struct{}),
		lines:    map[string]*line{},
		held:     map[*hold]struct{}{},
		pauses:   cfg.Seed.Rand(),
		over:     make(chan struct{}),
	}
	l.link = link{
		log:      cfg.Log,
		clock:    cfg.Clock,
		now:      func() time.Duration { return cfg.Clock.Now().Sub(l.origin) },
		timeout:  cfg.Options.Timeout,
		access:   cfg.Access,
		messages: &l.count,
		closed:   make(chan struct{}),
	}
	id, err := l.newToken()
	if err != nil {
		return nil, fmt.Errorf("redlock: draw the client's name: %w", err)
	}
	l.channel = channelPrefix + id
	l.start(cfg.Addrs)
	return l, nil
}

func (c Config) validate() error {
	if len(c.Addrs) == 0 {
		return fmt.Errorf("no instances: want at least one address: %w", locks.ErrInvalid)
	}
	seen := map[string]bool{}
	for i, a := range c.Addrs {
		if a.Addr == "" || seen[a.Addr] {
			return fmt.Errorf("instance %d, %q: want an address of its own, host:port: %w", i, a.Addr, locks.ErrInvalid)
		}
		seen[a.Addr] = true
	}
	if err := c.Access.validate(); err != nil {
		return err
	}
	return c.Options.validate()
}

func (l *Locker) start(addrs []Instance) {
	for _, a := range addrs {
		in := &instance{Instance: a}
		for range lanesPerInstance {
			ln := newLane(&l.link, a.Addr)
			in.lanes = append(in.lanes, ln)
			l.running.Go(ln.run)
		}
		l.instances = append(l.instances, in)
		l.ears = append(l.ears, &ear{locker: l, addr: a.Addr})
	}
}

// newToken draws 128 bits, as hexadecimal digits.
func (l *Locker) newToken() (string, error) {
	var raw [16]byte
	if _, err := io.ReadFull(l.random, raw[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(raw[:]), nil
}

// MessagesSent counts the commands sent and the answers received.
func (l *Locker) MessagesSent() uint64 { return l.count.Load() }

// Acquire blocks until the resource is held or ctx is done. While a quorum of the
// instances is away it goes on trying; the error then wraps locks.ErrUnavailable
// too. When ctx ends, what was acquired in part is released first, which may take
// up to Options.Timeout; only if that could not be confirmed, and a quorum may
// carry this call's token, the error is locks.ErrUnknown: until TTL is over, the
// resource may be blocked.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckResource(resource); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, err)
	}
	ln, turn, ok := l.join(resource)
	if !ok {
		return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
	}
	defer l.calls.Done()
	if turn != nil {
		var err error
		select {
		case <-turn:
		case <-ctx.Done():
			err = fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, ctx.Err())
		case <-l.stop:
			err = fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
		}
		if err != nil {
			l.abandon(ln, turn)
			return nil, err
		}
	}
	h, err := l.compete(ctx, ln)
	if err != nil {
		l.leave(ln)
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
	return h, nil
}

// compete is the part of Acquire that the first of a line plays: attempt after
// attempt, with a pause or a wait for a wake-up between them.
func (l *Locker) compete(ctx context.Context, ln *line) (*hold, error) {
	var doubtful []*hold // denied attempts that may still come to carry a quorum
	standing, unavailable := false, false
	fail := func(why error) (*hold, error) {
		if standing {
			l.stepOut(ln)
		}
		return nil, l.failure(why, doubtful, unavailable)
	}
	if l.mustStand(ctx, ln) {
		if _, err := l.stand(ctx, ln, &standing); err != nil {
			return fail(err)
		}
	}
	for attempt := 0; ; attempt++ {
		h, err := l.newHold(ln)
		if err != nil {
			return fail(fmt.Errorf("draw a token: %w: %w", locks.ErrNotAcquired, err))
		}
		h.step(event{kind: evBegin})
		var granted bool
		select {
		case granted = <-h.decided:
		case <-ctx.Done():
			err = ctx.Err()
		case <-l.stop:
			err = locks.ErrClosed
		}
		if granted {
			err = l.adopt(h)
		}
		switch {
		case granted && err == nil:
			if standing {
				l.stepOut(ln)
			}
			return h, nil
		case errors.Is(err, locks.ErrNotHeld): // over before we looked: it carries nothing that lasts
			unavailable = false
		case err != nil:
			h.abandon()
			doubtful = append(doubtful, h)
			return fail(err)
		default:
			unavailable = !h.answered
			doubtful = keepDoubtful(append(doubtful, h))
		}
		if err := l.rest(ctx, ln, h, attempt, !unavailable, &standing); err != nil {
			return fail(err)
		}
	}
}

// rest waits until the next attempt makes sense.
func (l *Locker) rest(ctx context.Context, ln *line, h *hold, attempt int, answered bool, standing *bool) error {
	if l.options.Wake == Poll {
		if err := l.clear(ctx, h); err != nil {
			return err
		}
	}
	if l.options.Wake == Poll || !answered {
		return l.pause(ctx, l.delay())
	}
	place, err := l.stand(ctx, ln, standing)
	switch {
	case err != nil:
		return err
	case place == noPlace:
		return l.pause(ctx, l.delay())
	case place == nothingToWaitFor:
		// The vote was split, or the lock has just been released.
		return l.pause(ctx, l.draw(0, min(time.Millisecond<<min(attempt, 10), l.options.Delay)))
	}
	return nil
}

// clear waits until the instances are done with a denied attempt, so that the pause
// before the next one is a pause for them too. Where instances or this machine are the
// bottleneck, clients that do not wait pile up attempts that delay the holder's release
// behind them: with 16 of them and a pause of 1 ms that cost two thirds of all grants.
// An instance that hangs is waited for twice as long as the attempt has taken, or for
// Delay if that is more.
func (l *Locker) clear(ctx context.Context, h *hold) error {
	limit := min(max(2*h.took(), l.options.Delay), l.timeout)
	timer := l.clock.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-h.cleared:
	case <-h.lost: // granted, and over before we looked
	case <-timer.C():
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stop:
		return locks.ErrClosed
	}
	return nil
}

func keepDoubtful(holds []*hold) []*hold {
	kept := holds[:0]
	for _, h := range holds {
		if !h.isFreed() {
			kept = append(kept, h)
		}
	}
	return kept
}

// failure is the error of an Acquire that ended because of why. It waits for the
// deletions that decide whether the lock is surely not held.
func (l *Locker) failure(why error, doubtful []*hold, unavailable bool) error {
	outcome := locks.ErrNotAcquired
	if len(doubtful) > 0 {
		timer := l.clock.NewTimer(l.timeout)
		defer timer.Stop()
		for _, h := range doubtful {
			if !h.settles(timer.C()) {
				outcome = locks.ErrUnknown
				break
			}
		}
		unavailable = unavailable || !doubtful[len(doubtful)-1].heard()
	}
	if unavailable {
		return fmt.Errorf("%w: %w: fewer than %d of %d redis instances answer: %w",
			outcome, locks.ErrUnavailable, l.rules.quorum(), l.rules.n, why)
	}
	return fmt.Errorf("%w: %w", outcome, why)
}

// pause waits for d, the end of ctx or Close.
func (l *Locker) pause(ctx context.Context, d time.Duration) error {
	timer := l.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stop:
		return locks.ErrClosed
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
	held := make([]*hold, 0, len(l.held))
	for h := range l.held {
		held = append(held, h)
	}
	l.mu.Unlock()

	close(l.stop)
	for _, h := range held {
		h.step(event{kind: evForsake})
	}
	l.calls.Wait()
	l.flush()
	close(l.closed)
	var errs []error
	for i, in := range l.instances {
		for _, ln := range in.lanes {
			errs = append(errs, ln.client.Close())
		}
		l.ears[i].close()
	}
	l.running.Wait()
	close(l.over)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close redlock: %w", err)
	}
	return nil
}

// flush waits until the lanes have dealt with everything that they were given: a
// last command goes through each of them.
func (l *Locker) flush() {
	b := barrier{done: make(chan struct{}, len(l.instances)*lanesPerInstance)}
	args := []any{"ping"}
	for i, in := range l.instances {
		for _, ln := range in.lanes {
			ln.send(&command{args: args, deadline: l.now() + l.timeout, to: b, instance: i})
		}
	}
	timer := l.clock.NewTimer(l.timeout)
	defer timer.Stop()
	for range cap(b.done) {
		select {
		case <-b.done:
		case <-timer.C():
			return
		}
	}
}

type barrier struct{ done chan struct{} }

func (b barrier) receive(*command, any, answer) { b.done <- struct{}{} }
