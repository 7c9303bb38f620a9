package redsync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/hashicorp/go-multierror"
	"github.com/redis/go-redis/v9"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/redlock"
)

// Options is how the lock works: of redlock.Options, TTL, Timeout (of a release) and how the
// servers are run. The rest is the library's own.
type Options struct{ redlock.Options }

// ParseOptions reads a spec such as redsync:ttl=2s. Its options are ttl, persistence and
// restart_delay. The error wraps locks.ErrInvalid.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	r.Variant()
	o := Options{redlock.ReadServers(r, redlock.DefaultOptions().TTL)}
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	if err := o.Validate(); err != nil {
		return Options{}, fmt.Errorf("lock %q: %w", spec, err)
	}
	return o, nil
}

// Config is what a Locker is made of. Only Addrs is required.
type Config struct {
	Addrs   []string    // of the independent primaries, host:port each
	Options Options     // the zero value means redlock.DefaultOptions
	Clock   clock.Clock // for Expires and Lost; the library reads the process's
}

// Locker is one client of the lock.
type Locker struct {
	cfg     Config
	sync    *redsync.Redsync
	clients []*redis.Client
	done    context.Context //nolint:containedctx // ends with Close
	end     context.CancelCauseFunc

	mu       sync.Mutex
	held     map[*lease]struct{}
	evicting map[string]string // by address: what is wrong with the server
}

var _ locks.Locker = (*Locker)(nil)

// New returns a client. It does not wait for the instances. The error wraps
// locks.ErrInvalid.
func New(cfg Config) (*Locker, error) {
	if len(cfg.Addrs) == 0 {
		return nil, fmt.Errorf("redsync: no instances: want at least one address: %w", locks.ErrInvalid)
	}
	if cfg.Options == (Options{}) {
		cfg.Options = Options{redlock.DefaultOptions()}
	}
	if err := cfg.Options.Validate(); err != nil {
		return nil, fmt.Errorf("redsync: %w", err)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	l := &Locker{cfg: cfg, held: map[*lease]struct{}{}, evicting: map[string]string{}}
	l.done, l.end = context.WithCancelCause(context.Background())
	var pools []redsyncredis.Pool
	for _, addr := range cfg.Addrs {
		options := redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1} // see doc.go
		unchecked := redis.NewClient(&options)
		options.OnConnect = func(ctx context.Context, conn *redis.Conn) error { return l.check(ctx, conn, addr) }
		client := redis.NewClient(&options)
		l.clients = append(l.clients, client, unchecked)
		pools = append(pools, pool{goredis.NewPool(client), goredis.NewPool(unchecked)})
	}
	l.sync = redsync.New(pools...)
	return l, nil
}

func (l *Locker) closed() bool { return l.done.Err() != nil }

func (l *Locker) quorum() int { return len(l.cfg.Addrs)/2 + 1 }

// Acquire blocks until the resource is held or ctx is done.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if l.closed() {
		return nil, fmt.Errorf("acquire %.255q: %w", resource, locks.ErrClosed)
	}
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.done, cancel)() //nolint:contextcheck // two things end the wait
	for {
		m := l.sync.NewMutex("redsync:"+resource, redsync.WithExpiry(l.cfg.Options.TTL))
		err := m.LockContext(waiting)
		if err == nil {
			return l.hold(ctx, m)
		}
		why := ctx.Err()
		if l.closed() {
			why = locks.ErrClosed
		}
		switch unfit := l.unfit(); {
		case unfit != nil && why != nil:
			why = fmt.Errorf("%w: %w", why, unfit)
		case unfit != nil:
			why = unfit
		case why == nil:
			continue
		}
		// All tries of a Mutex use one value, so what refuses may be a key of its own.
		outcome := locks.ErrUnknown
		if broken(err) >= l.quorum() {
			outcome = fmt.Errorf("%w: %w", outcome, locks.ErrUnavailable)
		}
		return nil, fmt.Errorf("acquire %q: %w: %w: %w", resource, outcome, why, err)
	}
}

// check notes whether the server may evict keys: the library does not pass on why it failed.
func (l *Locker) check(ctx context.Context, conn *redis.Conn, addr string) error {
	err := redlock.CheckServer(ctx, conn)
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.evicting, addr)
	if errors.Is(err, locks.ErrInvalid) {
		l.evicting[addr] = fmt.Sprintf("redis %s: %v", addr, err)
	}
	return err
}

// pool deletes keys unchecked where the check refuses the server: a policy that changed during a
// hold must not stop its release.
type pool struct{ checked, unchecked redsyncredis.Pool }

func (p pool) Get(ctx context.Context) (redsyncredis.Conn, error) {
	checked, err := p.checked.Get(ctx)
	if err != nil {
		return nil, err
	}
	unchecked, err := p.unchecked.Get(ctx)
	return conn{checked, unchecked}, err
}

type conn struct {
	redsyncredis.Conn
	unchecked redsyncredis.Conn
}

// Eval is how the library deletes a key.
func (c conn) Eval(script *redsyncredis.Script, keysAndArgs ...any) (any, error) {
	value, err := c.Conn.Eval(script, keysAndArgs...)
	if errors.Is(err, locks.ErrInvalid) {
		return c.unchecked.Eval(script, keysAndArgs...)
	}
	return value, err
}

// unfit is an error if so many servers may evict keys that no quorum is left.
func (l *Locker) unfit() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.cfg.Addrs)-len(l.evicting) >= l.quorum() {
		return nil
	}
	return fmt.Errorf("%w: %s", locks.ErrInvalid, strings.Join(slices.Sorted(maps.Values(l.evicting)), "; "))
}

// failures counts the instances that did not do as they were asked.
func failures(err error) int {
	var all *multierror.Error
	if !errors.As(err, &all) {
		return 0
	}
	return len(all.Errors)
}

// broken counts the instances that gave no answer.
func broken(err error) (n int) {
	var all *multierror.Error
	if !errors.As(err, &all) {
		return 0
	}
	for _, one := range all.Errors {
		if failed := new(redsync.RedisError); errors.As(one, &failed) {
			n++
		}
	}
	return n
}

func (l *Locker) hold(ctx context.Context, m *redsync.Mutex) (locks.Lease, error) {
	left := m.Until().Sub(clock.System().Now()) // the library's time is the process's, whatever Clock says
	le := &lease{locker: l, mutex: m, lost: make(chan struct{}), until: l.cfg.Clock.Now().Add(left)}
	l.mu.Lock()
	closed := l.closed()
	if !closed {
		l.held[le] = struct{}{}
		le.timer = l.cfg.Clock.AfterFunc(left, le.lose)
	}
	l.mu.Unlock()
	if closed {
		return nil, errors.Join(locks.ErrClosed, le.unlock(ctx))
	}
	return le, nil
}

// Close ends all waits and gives up and releases all leases.
func (l *Locker) Close() error {
	l.mu.Lock()
	if l.closed() {
		l.mu.Unlock()
		return nil
	}
	l.end(locks.ErrClosed)
	held := l.held
	l.held = map[*lease]struct{}{}
	l.mu.Unlock()
	for le := range held {
		le.lose()
		_ = le.unlock(context.Background()) // what is not released ends with its TTL
	}
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// lease is one hold of the library's Mutex.
type lease struct {
	locker *Locker
	mutex  *redsync.Mutex
	until  time.Time // the library's validity, on the Locker's Clock
	timer  clock.Timer
	lost   chan struct{}
	once   sync.Once // lost or released
	result error
}

var _ locks.Lease = (*lease)(nil)

func (le *lease) lose() {
	le.once.Do(func() {
		le.result = fmt.Errorf("release: the lease had ended: %w", locks.ErrNotHeld)
		close(le.lost)
	})
}

// Token says that there is none.
func (le *lease) Token() (locks.Token, bool) { return 0, false }

// Expires is the library's validity.
func (le *lease) Expires() (time.Time, bool) { return le.until, true }

// Lost is closed when the validity is over, and by Close.
func (le *lease) Lost() <-chan struct{} { return le.lost }

// Release deletes the keys, also when ctx is done.
func (le *lease) Release(ctx context.Context) error {
	le.once.Do(func() { le.result = le.unlock(ctx) })
	le.timer.Stop()
	le.locker.mu.Lock()
	delete(le.locker.held, le)
	le.locker.mu.Unlock()
	return le.result
}

func (le *lease) unlock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), le.locker.cfg.Options.Timeout)
	defer cancel()
	ok, err := le.mutex.UnlockContext(ctx)
	taken := new(redsync.ErrTaken) // by others, at a quorum
	switch {
	case ok:
		return nil
	case errors.As(err, &taken) || failures(err)-broken(err) > len(le.locker.cfg.Addrs)-le.locker.quorum():
		return fmt.Errorf("release: a quorum of the keys was gone: %w: %w", locks.ErrNotHeld, err)
	case broken(err) >= le.locker.quorum():
		return fmt.Errorf("release: %w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	default:
		return fmt.Errorf("release: %w: %w", locks.ErrUnknown, err)
	}
}
