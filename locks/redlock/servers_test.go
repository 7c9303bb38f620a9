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
