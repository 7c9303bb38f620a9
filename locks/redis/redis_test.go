package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redis"
	"locklab/locks/redlock/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(tb testing.TB, text string) redis.Options {
	tb.Helper()
	return locktest.Options(tb, redis.ParseOptions, text)
}

// client is one of the lock that the spec names, with this clock if it is not nil.
func client(tb testing.TB, server *redistest.Server, spec string, c clock.Clock) *redis.Locker {
	tb.Helper()
	l, err := redis.New(redis.Config{Addr: server.Addr(), Options: options(tb, spec), Clock: c})
	return locktest.Open(tb, l, err)
}

func TestConforms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"redis", "redis:release=naive", "redis:extend=off", "redis:setnx-getset", "redis:watch", "redis:pubsub", "redis:pubsub,delay=1h",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, 1)[0]
			o, first := options(t, text), locktest.NewClock()
			o.Timeout = o.TTL / 2 // an instance is not silent because the machine is busy
			locktest.Run(t, locktest.Subject{
				NoExclusion: o.Naive,
				Leases:      &locktest.Leases{Time: o.TTL, Clock: first},
				New: func(tb testing.TB) []locks.Locker {
					server.Do("flushall")
					var clients []locks.Locker
					for _, c := range []clock.Clock{first, nil, nil} {
						clients = append(clients, client(tb, server, text, c))
					}
					return clients
				},
			})
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	locktest.Specs(t, redis.ParseOptions, map[string]string{
		"redis": "", "redis:pubsub,ttl=1s,release=naive": "", "redis:setnx-getset": "",
		"redis:setnx-getset,extend=on": "unknown option", "redis:order=parallel": "unknown option", "redis:wake=publish": "unknown option",
		"redis:ttl=1ms": "ttl", "redis:multi": "unknown variant", "redis:release=never": "compare",
	})
	if _, err := redis.New(redis.Config{}); !errors.Is(err, locks.ErrInvalid) {
		t.Errorf("no address: want ErrInvalid, got %v", err)
	}
}

// limit is one that a right lock never comes near, on any machine.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// fails acquires with little patience, which must not be enough.
func fails(t *testing.T, l locks.Locker, resource string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(limit(t), 50*time.Millisecond)
	defer cancel()
	lease, err := l.Acquire(ctx, resource)
	if err == nil {
		t.Fatalf("acquired %s: %v", resource, lease)
	}
	return err
}

func contextFor(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(limit(t), d)
}
