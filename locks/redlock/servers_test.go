package redlock_test

import (
	"testing"

	"go.uber.org/goleak"

	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of the servers with the options changed.
func newClient(tb testing.TB, servers []*redistest.Server, change func(*redlock.Options)) *redlock.Locker {
	tb.Helper()
	o := redlock.DefaultOptions()
	if change != nil {
		change(&o)
	}
	return newClientOn(tb, servers, nil, o)
}

func newClientOn(tb testing.TB, servers []*redistest.Server, c clock.Clock, o redlock.Options) *redlock.Locker {
	tb.Helper()
	return open(tb, redlock.Config{Addrs: redistest.Addrs(servers), Options: o, Clock: c})
}

func open(tb testing.TB, cfg redlock.Config) *redlock.Locker {
	tb.Helper()
	l, err := redlock.New(cfg)
	return locktest.Open(tb, l, err)
}

func TestConforms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"redlock",
		"redlock:order=sequential,retry=fixed,delay=7ms",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			options := locktest.Options(t, redlock.ParseOptions, text)
			options.Timeout = options.TTL / 2 // an instance is not silent because the machine is busy
			servers := redistest.Start(t, 5)
			locktest.Run(t, locktest.Clients(options.TTL, func() { redistest.Forget(servers) }, func(tb testing.TB, c clock.Clock) *redlock.Locker {
				return newClientOn(tb, servers, c, options)
			}))
		})
	}
}
