package redis_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/redlock/redistest"
)

// This file is about servers that refuse something, or are set up in a way that a lock cannot
// be kept on.

// TestAKeyWithoutAnEndIsNotPolled: a waiter that is told of releases asks about such a key
// after a delay, and not again and again.
func TestAKeyWithoutAnEndIsNotPolled(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	server.Do("set", "lock:r", "of a program that sets no end")
	l := client(t, server, "redis:pubsub,delay=1h", nil)
	if err := locktest.Refused(t, l, "r", 300*time.Millisecond); !errors.Is(err, locks.ErrNotAcquired) {
		t.Errorf("want ErrNotAcquired, got %v", err)
	}
	if n := l.MessagesSent(); n > 20 {
		t.Errorf("%d messages for two attempts", n)
	}
	server.Do("del", "lock:r")
	l = client(t, server, "redis:pubsub,delay=10ms", nil)
	server.Do("set", "lock:r", "of a program that sets no end")
	var next sync.WaitGroup
	next.Go(func() { locktest.Release(t, locktest.Acquire(t, l, "r")) })
	locktest.Eventually(t, "it waits", func() bool { return l.MessagesSent() >= 10 })
	server.Do("del", "lock:r") // and publishes nothing
	next.Wait()
}

// TestAUserWithoutChannels takes, releases and waits for the lock.
func TestAUserWithoutChannels(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, 1)[0]
	server.Do("acl", "setuser", "default", "resetchannels")
	l := client(t, server, "redis:pubsub,ttl=1h", nil)
	held := locktest.Acquire(t, l, "r")
	next := locktest.Later(t, l, "r")
	if err := held.Release(locktest.Within(t)); err != nil {
		t.Errorf("release: %v", err)
	}
	locktest.Release(t, <-next)
}

// TestARefusalIsNamed: the error of a lock that is not served says what the server said.
func TestARefusalIsNamed(t *testing.T) {
	t.Parallel()
	for spec, right := range map[string]string{
		"redis": "set", "redis:setnx-getset": "setnx", "redis:watch": "watch", "redis:pubsub": "set",
	} {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, 1)[0]
			server.Do("acl", "setuser", "default", "-"+right)
			err := fails(t, client(t, server, spec, nil), "r")
			if !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) ||
				!strings.Contains(err.Error(), server.Addr()) || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("want the server and its NOPERM, got %v", err)
			}
		})
	}
	t.Run("redis:replica,wait=1", func(t *testing.T) {
		t.Parallel()
		servers := redistest.StartReplicated(t)
		servers.Primary.Do("acl", "setuser", "default", "-wait")
		l := replicaClient(t, servers, "redis:replica,wait=1", nil)
		locktest.Eventually(t, "the refused WAIT is named", func() bool { // first no Sentinel has answered
			err := fails(t, l, "r")
			return errors.Is(err, locks.ErrUnavailable) && strings.Contains(err.Error(), "NOPERM")
		})
		if n := servers.Primary.Do("exists", "lock:r"); n != int64(0) {
			t.Error("what was not copied was not deleted")
		}
	})
}
