package redlock_test

import (
	"testing"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redlock"
	"locklab/locks/redlock/redistest"
)

func TestConforms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"redlock",
		"redlock:wake=publish",
		"redlock:order=sequential,retry=fixed,delay=7ms",
		"redlock:extend=off",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			options := locktest.Options(t, redlock.ParseOptions, text)
			options.Timeout = options.TTL / 2 // an instance is not silent because the machine is busy
			servers := redistest.Start(t, 5)
			first := locktest.NewClock()
			leases := &locktest.Leases{Time: options.TTL, Clock: first}
			locktest.Run(t, locktest.Subject{Leases: leases, New: func(tb testing.TB) []locks.Locker {
				for _, s := range servers {
					s.Do("flushall")
				}
				var clients []locks.Locker
				for _, c := range []clock.Clock{first, nil, nil} {
					clients = append(clients, newClientOn(tb, servers, c, options))
				}
				return clients
			}})
		})
	}
}
