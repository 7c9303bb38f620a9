package redis_test

import (
	"errors"
	"testing"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/redis"
	"locklab/locks/redlock/redistest"
)

// This file is the variant replica on real servers and Sentinels. What happens is driven:
// replication is cut, or not, before a lock is taken and the primary killed.

func replicaClient(tb testing.TB, servers *redistest.Replicated, spec string, c clock.Clock) *redis.Locker {
	tb.Helper()
	o := options(tb, spec)
	o.Timeout = o.TTL / 4 // a server is not silent because the machine is busy
	l, err := redis.New(redis.Config{
		Options: o, Clock: c,
		Replicated: redis.Replicated{Sentinels: redistest.Addrs(servers.Sentinels), Service: redistest.Service},
	})
	return locktest.Open(tb, l, err)
}

func TestReplicaConforms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"redis:replica", "redis:replica,wait=1"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			servers := redistest.StartReplicated(t)
			fresh := func() { servers.Primary.Do("flushall") }
			locktest.Run(t, locktest.Clients(options(t, text).TTL, fresh, func(tb testing.TB, c clock.Clock) *redis.Locker {
				return replicaClient(tb, servers, text, c)
			}))
		})
	}
}

// TestAFailoverLosesWhatWasNotCopied: the primary dies before the replica has the key, and
// the replica, promoted, grants the lock again. With wait=1 nobody got it to begin with.
func TestAFailoverLosesWhatWasNotCopied(t *testing.T) {
	t.Parallel()
	servers := redistest.StartReplicated(t)
	waits := replicaClient(t, servers, "redis:replica,wait=1", nil)
	plain := replicaClient(t, servers, "redis:replica,ttl=1h", nil)
	locktest.Release(t, locktest.Acquire(t, waits, "before")) // it knows the primary
	servers.Cut()
	held := locktest.Acquire(t, plain, "r")
	_ = fails(t, waits, "other")
	servers.Primary.Kill()

	again := replicaClient(t, servers, "redis:replica", nil)
	locktest.Acquire(t, again, "r")
	if signals.Closed(held.Lost()) {
		t.Error("the first holder was told: nothing is shown")
	}
	servers.AwaitFailover()
	// The old primary comes back with nothing, and as a primary as far as it knows. Nobody asks it.
	servers.Primary.Start()
	_ = fails(t, replicaClient(t, servers, "redis:replica", nil), "r")
}

// TestWaitSurvivesTheFailover: what counted as held is there after it.
func TestWaitSurvivesTheFailover(t *testing.T) {
	t.Parallel()
	servers := redistest.StartReplicated(t)
	held := locktest.Acquire(t, replicaClient(t, servers, "redis:replica,wait=1,ttl=1h", nil), "r")
	servers.Primary.Kill()
	next := replicaClient(t, servers, "redis:replica", nil)
	servers.AwaitFailover()
	locktest.Eventually(t, "the replica answers as the primary", func() bool {
		return !errors.Is(fails(t, next, "r"), locks.ErrUnavailable)
	})
	if signals.Closed(held.Lost()) {
		t.Error("the holder lost what its server still has")
	}
	locktest.Release(t, held)
	locktest.Acquire(t, next, "r")
}

// TestWaitPromisesMemoryOnly: a replica that had the key, and forgot it when it restarted,
// is promoted like any other.
func TestWaitPromisesMemoryOnly(t *testing.T) {
	t.Parallel()
	servers := redistest.StartReplicated(t)
	held := locktest.Acquire(t, replicaClient(t, servers, "redis:replica,wait=1,ttl=1h", nil), "r")
	servers.Cut()
	servers.Replica.Kill()
	servers.Replica.Start()
	locktest.Eventually(t, "the replica is known to be back", servers.ReplicaIsSeen)
	servers.Primary.Kill()
	locktest.Acquire(t, replicaClient(t, servers, "redis:replica", nil), "r")
	if signals.Closed(held.Lost()) {
		t.Error("the first holder was told: nothing is shown")
	}
}

// TestClientsFollowAPromotion of which no broken connection tells them.
func TestClientsFollowAPromotion(t *testing.T) {
	t.Parallel()
	servers := redistest.StartReplicated(t)
	l := replicaClient(t, servers, "redis:replica,ttl=1h", nil)
	locktest.Acquire(t, l, "before")
	servers.Sentinels[0].Do("sentinel", "failover", redistest.Service)
	servers.AwaitFailover()
	locktest.Eventually(t, "keys are set at the new primary", func() bool {
		lease, err := l.Acquire(locktest.Within(t), "after")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = lease.Release(locktest.Within(t)) }()
		return servers.Replica.Do("exists", "lock:after") == int64(1)
	})
}

func TestReplicaIsChecked(t *testing.T) {
	for name, r := range map[string]redis.Replicated{
		"no Sentinels": {Service: "lock"}, "no service": {Sentinels: []string{"127.0.0.1:1"}},
	} {
		if _, err := redis.New(redis.Config{Options: options(t, "redis:replica"), Replicated: r}); !errors.Is(err, locks.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", name, err)
		}
	}
}
