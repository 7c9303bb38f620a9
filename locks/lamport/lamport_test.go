package lamport_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/lamport"
	"locklab/locks/locktest"
	"locklab/locks/peerlock"
	"locklab/locks/ricartagrawala"
	"locklab/verify/peertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLamport(t *testing.T) {
	testLock(t, lamport.Options{}, lamport.Options{Detect: true}, lamport.New, 3)
	testOptions(t, lamport.Name, lamport.ParseOptions)
}

func TestRicartAgrawala(t *testing.T) {
	testLock(t, ricartagrawala.Options{}, ricartagrawala.Options{Detect: true}, ricartagrawala.New, 2)
	testOptions(t, ricartagrawala.Name, ricartagrawala.ParseOptions)
}

// testLock is told how many messages an acquisition takes for each other peer.
func testLock[O any](t *testing.T, plain, detect O, start func(peerlock.Config[O]) (*lamport.Locker, error), messages int) {
	peertest.NeedsEveryPeer(t, plain, start, messages)
	t.Run("conforms with detection", func(t *testing.T) {
		locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
			return peertest.Lockers(peertest.StartAll(tb, peertest.Configs(tb, 3, detect), start))
		}})
	})
	t.Run("a dead peer is left out", func(t *testing.T) { peertest.DeadPeerIsLeftOut(t, detect, start) })
}

func testOptions[O fmt.Stringer](t *testing.T, name string, parse func(locks.Spec) (O, error)) {
	peertest.Options(t, parse, map[string]string{
		name: name + ":detect=off", name + ":detect=on": name + ":detect=on",
		"other": "", name + ":detect=maybe": "", name + ":fair=on": "", name + ":quick": "",
	})
}
