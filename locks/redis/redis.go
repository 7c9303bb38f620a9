package redis

import (
	"embed"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/redlock"
)

//go:embed scripts/*.lua
var scripts embed.FS

func script(name string) string {
	text, _ := scripts.ReadFile("scripts/" + name + ".lua") // is there; every test would fail
	return string(text)
}

// Config is what a Locker is made of. Only Addr is required, or Replicated.
type Config struct {
	// Addr is the server, host:port; of no use to the variant replica.
	Addr string
	// Replicated is where the variant replica finds its server.
	Replicated Replicated
	// Options is how the lock works; the zero value means DefaultOptions.
	Options Options
	// Clock is the process's clock unless a test replaces it.
	Clock clock.Clock
	// Seed of the random pauses, different for each client; zero draws one.
	Seed seed.Seed
	// Log takes what is worth knowing about the server; nil discards it.
	Log *slog.Logger
}

// Locker is one client of the lock. What its methods promise is said at redlock.Locker; a
// server that is silent may keep Acquire for twice Options.Timeout after its context ended.
type Locker struct {
	*redlock.Locker
	pool    *redis.Client // of the variant watch and of wait, or nil
	primary *primary      // of the variant replica, or nil
}

var _ locks.Locker = (*Locker)(nil)

// New returns a client. It does not wait for the server. The error wraps locks.ErrInvalid.
func New(cfg Config) (*Locker, error) {
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	if err := cfg.Options.Validate(); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	if cfg.Options.Variant == Replica {
		if err := cfg.Replicated.validate(); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		cfg.Addr = cfg.Replicated.Service
	}
	engine := redlock.Config{
		Addrs: []string{cfg.Addr}, Options: cfg.Options.Options, Clock: cfg.Clock, Seed: cfg.Seed, Log: cfg.Log,
	}
	how := redlock.Single{Name: "redis"}
	l := &Locker{}
	switch cfg.Options.Variant {
	case SetNXGetSet:
		s := setnxGetset{clock: cfg.Clock, ttl: cfg.Options.TTL}
		how.Token, how.Set = s.token, s.set
	case Watch:
		l.pool = engine.Pool(cfg.Addr)
		how.Set = watch{pool: l.pool, ttl: cfg.Options.TTL, timeout: cfg.Options.Timeout}.set
	case PubSub:
		how.Release, how.Publishes = script("release_publish"), true
	case Replica:
		l.primary = findPrimary(cfg.Replicated, engine)
		engine.Dial = l.primary.dial
		if cfg.Options.Wait > 0 {
			l.pool = engine.Pool(cfg.Addr)
			w := waited{pool: l.pool, replicas: cfg.Options.Wait, ttl: cfg.Options.TTL, timeout: cfg.Options.Timeout}
			how.Set, how.Prolong = w.set, w.extend
		}
	case SetNX:
	}
	if cfg.Options.Naive {
		how.FreeAnyway = script("release_naive")
	}
	var err error
	if l.Locker, err = redlock.NewSingle(engine, how); err != nil {
		return nil, errors.Join(err, l.closeOwn())
	}
	return l, nil
}

// closeOwn closes what is not the machine's.
func (l *Locker) closeOwn() (err error) {
	if l.pool != nil {
		if closed := l.pool.Close(); !errors.Is(closed, redis.ErrClosed) { // by an earlier Close
			err = closed
		}
	}
	if l.primary != nil {
		err = errors.Join(err, l.primary.close())
	}
	return err
}

// Close ends all waits, gives up all leases (their Lost is closed) and releases them if
// the server answers within Options.Timeout.
func (l *Locker) Close() error { return errors.Join(l.Locker.Close(), l.closeOwn()) }
