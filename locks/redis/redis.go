package redis

import (
	"cmp"
	_ "embed" // the scripts
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/redlock"
)

//go:embed scripts/release_publish.lua
var releasePublish string

//go:embed scripts/release_naive.lua
var releaseNaive string

// Config configures a Locker. It requires only Addr or Replicated.
type Config struct {
	// Addr is the server, host:port; the variant replica ignores it.
	Addr string
	// Replicated locates the server of the variant replica.
	Replicated Replicated
	// Options configures the lock; the zero value means DefaultOptions.
	Options Options
	// Clock is the process's clock unless a test replaces it.
	Clock clock.Clock
	// Seed of the random pauses, different for each client; zero draws one.
	Seed seed.Seed
	// Log receives changes of the primary; nil discards them.
	Log *slog.Logger
}

// Locker is one client of the lock. redlock.Locker states the promises of its methods. If the
// server is silent, Acquire may return up to twice Options.Timeout after its context has ended.
type Locker struct {
	*redlock.Locker
	sent atomic.Uint64 // messages that redlock.Locker does not count
}

var _ locks.Locker = (*Locker)(nil)

// New returns a client. It does not wait for the server. The error wraps locks.ErrInvalid.
func New(cfg Config) (*Locker, error) {
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	cfg.Clock = cmp.Or(cfg.Clock, clock.System())
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	err := cfg.Options.Validate()
	if err == nil && cfg.Options.Variant == Replica {
		err = cfg.Replicated.validate()
		cfg.Addr = cfg.Replicated.Service
	}
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	l := &Locker{}
	engine := redlock.Config{
		Addrs: []string{cfg.Addr}, Options: cfg.Options.Options, Clock: cfg.Clock, Seed: cfg.Seed,
	}
	how := redlock.Single{Name: "redis"}
	ttl, timeout := cfg.Options.TTL, cfg.Options.Timeout
	switch cfg.Options.Variant {
	case SetNXGetSet:
		s := setnxGetset{clock: cfg.Clock, ttl: ttl}
		how.Token, how.Set = s.token, s.set
	case Watch:
		w := watch{pool: engine.Client(cfg.Addr), sent: &l.sent, ttl: ttl, timeout: timeout}
		how.Set, how.Close = w.set, w.pool.Close
	case PubSub:
		r := &releases{
			client: engine.Client(cfg.Addr), timeout: timeout, sent: &l.sent, woken: map[string][]chan struct{}{},
		}
		how.Release, how.Waiter, how.Close = releasePublish, r.waiter, r.close
	case Replica:
		p := findPrimary(cfg, engine)
		engine.Dial, how.Close = p.dial, p.close
		if cfg.Options.Wait > 0 {
			w := waited{pool: engine.Client(cfg.Addr), sent: &l.sent, replicas: cfg.Options.Wait, ttl: ttl, timeout: timeout}
			how.Set, how.Extend = w.set, w.extend
			how.Close = func() error { return errors.Join(w.pool.Close(), p.close()) }
		}
	case SetNX:
	}
	if cfg.Options.Naive {
		how.Free = releaseNaive
	}
	if l.Locker, err = redlock.NewSingle(engine, how); err != nil {
		return nil, err
	}
	return l, nil
}

// MessagesSent counts the commands sent and the answers received.
func (l *Locker) MessagesSent() uint64 { return l.Locker.MessagesSent() + l.sent.Load() }
