package redis_test

import (
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
	o := locktest.Options(tb, redis.ParseOptions, text)
	o.Timeout = min(time.Second, o.TTL/2) // a server is not silent because the machine is busy
	return o
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
		"redis", "redis:release=naive", "redis:setnx-getset", "redis:watch", "redis:pubsub", "redis:pubsub,delay=1h",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, 1)[0]
			o := options(t, text)
			s := locktest.Clients(o.TTL, func() { server.Do("flushall") }, func(tb testing.TB, c clock.Clock) *redis.Locker {
				l, err := redis.New(redis.Config{Addr: server.Addr(), Options: o, Clock: c})
				return locktest.Open(tb, l, err)
			})
			s.NoExclusion = o.Naive
			locktest.Run(t, s)
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	locktest.Specs(t, redis.ParseOptions, map[string]string{
		"redis": "", "redis:pubsub,ttl=1s,release=naive": "", "redis:setnx-getset": "",
		"redis:order=parallel": "unknown option", "redis:wake=publish": "unknown option",
		"redis:ttl=1ms": "ttl", "redis:ttl=2562047h": "at most 8760h", "redis:delay=2562047h": "at most 8760h", "redis:multi": "unknown variant", "redis:release=never": "compare",
	})
	if _, err := redis.New(redis.Config{}); !errors.Is(err, locks.ErrInvalid) {
		t.Errorf("no address: want ErrInvalid, got %v", err)
	}
}

// fails acquires with little patience, which must not be enough.
func fails(t *testing.T, l locks.Locker, resource string) error {
	t.Helper()
	return locktest.Refused(t, l, resource, 50*time.Millisecond)
}
