package redsync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/redlock"
)

// Options configures the lock. It uses TTL, Persistence and RestartDelay of redlock.Options.
type Options struct{ redlock.Options }

// ParseOptions reads a spec such as redsync:ttl=2s. The error wraps locks.ErrInvalid.
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

// Config configures a Locker.
type Config struct {
	Addrs   []string // of the independent primaries, host:port each
	Options Options
}

// Locker is one client of the lock.
type Locker struct {
	ttl     time.Duration
	sync    *redsync.Redsync
	clients []*redis.Client
	calls   *locks.Calls
}

var _ locks.Locker = (*Locker)(nil)

// New returns a client. It does not wait for the instances.
func New(cfg Config) *Locker {
	l := &Locker{ttl: cfg.Options.TTL, calls: locks.NewCalls()}
	var pools []redsyncredis.Pool
	for _, addr := range cfg.Addrs {
		client := redis.NewClient(&redis.Options{Addr: addr})
		l.clients = append(l.clients, client)
		pools = append(pools, goredis.NewPool(client))
	}
	l.sync = redsync.New(pools...)
	return l
}

// Acquire blocks until the resource is held or ctx is done.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	return l.calls.Acquire(ctx, resource, func(ctx context.Context) (locks.Lease, error) {
		for {
			m := l.sync.NewMutex("redsync:"+resource, redsync.WithExpiry(l.ttl))
			err := m.LockContext(ctx)
			switch {
			case err == nil:
				term := locks.NewTerm(clock.System(), m.Until())
				open := context.AfterFunc(l.calls.Open(), term.Lose) //nolint:contextcheck // ends with the client
				return &lease{Term: term, open: open, calls: l.calls, resource: resource, mutex: m}, nil
			case ctx.Err() != nil:
				return nil, fmt.Errorf("%w: %w", locks.ErrUnknown, err)
			}
		}
	})
}

// Close ends all waits and gives up all leases. Held resources are free when their TTL is over.
func (l *Locker) Close() error {
	if !l.calls.Stop() {
		return nil
	}
	var errs []error
	for _, c := range l.clients {
		errs = append(errs, c.Close())
	}
	l.calls.Wait()
	return errors.Join(errs...)
}

// lease is one hold of the library's Mutex, for the library's validity. Locker.Close ends it, too.
type lease struct {
	*locks.Term
	open     func() bool // unregisters the lease from Locker.Close
	calls    *locks.Calls
	resource string
	mutex    *redsync.Mutex
	release  locks.ReleaseOnce
}

var _ locks.Lease = (*lease)(nil)

// Token returns false: there is none.
func (le *lease) Token() (locks.Token, bool) { return 0, false }

// Release deletes the keys. It goes on in the background when ctx is done, which go-redis ignores.
func (le *lease) Release(ctx context.Context) error {
	return le.release.Do(le.resource, func() error {
		le.open()
		if !le.End() {
			return fmt.Errorf("the lease had ended: %w", locks.ErrNotHeld)
		}
		return le.calls.Release(ctx, func() error {
			if ok, err := le.mutex.UnlockContext(context.WithoutCancel(ctx)); !ok {
				return fmt.Errorf("%w: fewer than a quorum of the keys was deleted: %w", locks.ErrUnknown, err)
			}
			return nil
		})
	})
}
