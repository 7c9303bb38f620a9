package peertest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/peerlock"
)

// NeedsEveryPeer tests a lock that is granted to none without every peer.
func NeedsEveryPeer[O any, L Peer](t *testing.T, options O, start func(peerlock.Config[O]) (L, error)) {
	t.Run("conforms", func(t *testing.T) {
		locktest.Run(t, locktest.Subject{NeedsAll: true, New: func(tb testing.TB) []locks.Locker {
			return Lockers(StartAll(tb, Configs(tb, 3, options), start))
		}})
	})
	t.Run("a dead peer blocks, and waits go on once it is back without its memory", func(t *testing.T) {
		cfgs := Configs(t, 3, options)
		all := StartAll(t, cfgs, start)
		locktest.Acquire(t, all[2], "r") // it dies with the lock in its hands
		_ = all[2].Close()
		for _, l := range all[:2] {
			AwaitLink(t, l, "p2", false)
			err := locktest.Refused(t, l, "r", 100*time.Millisecond)
			named := err != nil && strings.Contains(err.Error(), "p2")
			if !named || !errors.Is(err, locks.ErrNotAcquired) || !errors.Is(err, locks.ErrUnavailable) {
				t.Fatalf("with a dead peer, want ErrNotAcquired and ErrUnavailable that names p2, got %v", err)
			}
		}
		waits := []<-chan locks.Lease{locktest.Later(t, all[0], "r"), locktest.Later(t, all[1], "r")}
		l := Start(t, Again(t, cfgs[2]), start)
		for range waits {
			select {
			case lease := <-waits[0]:
				locktest.Release(t, lease)
			case lease := <-waits[1]:
				locktest.Release(t, lease)
			}
		}
		locktest.Acquire(t, l, "r")
	})
}
