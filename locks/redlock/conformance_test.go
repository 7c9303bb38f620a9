package redlock_test

import (
	"testing"

	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
)

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
