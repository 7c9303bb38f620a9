package lamport_test

import (
	"testing"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/lamport"
	"locklab/locks/locktest"
	"locklab/verify/peertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLamport(t *testing.T) { testLock(t, lamport.Name, false) }

func TestRicartAgrawala(t *testing.T) { testLock(t, lamport.RicartAgrawala, true) }

func testLock(t *testing.T, name string, defers bool) {
	peertest.NeedsEveryPeer(t, lamport.Options{Defer: defers}, lamport.New)
	detect := lamport.Options{Defer: defers, Detect: true}
	t.Run("conforms with detection", func(t *testing.T) {
		locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
			return peertest.Lockers(peertest.StartAll(tb, peertest.Configs(tb, 3, detect), lamport.New))
		}})
	})
	t.Run("a dead peer is left out", func(t *testing.T) {
		all := peertest.StartAll(t, peertest.Configs(t, 3, detect), lamport.New)
		locktest.Acquire(t, all[2], "r")
		_ = all[2].Close()
		for _, l := range all[:2] {
			locktest.Release(t, locktest.Acquire(t, l, "r"))
		}
	})
	locktest.Specs(t, lamport.ParseOptions, map[string]string{
		name: "", name + ":detect=maybe": "on or off", name + ":fair=on": "unknown option", name + ":quick": "it has none",
	})
	if o := locktest.Options(t, lamport.ParseOptions, name+":detect=on"); o != detect || o.String() != name+":detect=on" {
		t.Errorf("got %v", o)
	}
}
