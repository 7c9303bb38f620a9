package lamport_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/lamport"
	"locklab/locks/locktest"
	"locklab/locks/peerlock/peertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConforms(t *testing.T) {
	locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
		return peertest.Supervised(tb, peertest.Configs(tb, 3, lamport.Options{}), lamport.New)
	}})
}

func TestConformsWithDetection(t *testing.T) {
	locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
		return peertest.Lockers(peertest.StartAll(tb, peertest.Configs(tb, 3, lamport.Options{Detect: true}), lamport.New))
	}})
}

func TestMessagesOfAnAcquisition(t *testing.T) {
	for _, peers := range []int{1, 2, 3, 5} {
		all := peertest.StartAll(t, peertest.Configs(t, peers, lamport.Options{}), lamport.New)
		peertest.CountMessages(t, all, 3)
	}
}

func TestManyNames(t *testing.T) {
	peertest.ManyNames(t, peertest.StartAll(t, peertest.Configs(t, 3, lamport.Options{}), lamport.New))
}

func TestDeadPeerBlocks(t *testing.T) {
	peertest.DeadPeerBlocks(t, lamport.Options{}, lamport.New)
}

func TestDeadPeerIsLeftOut(t *testing.T) {
	peertest.DeadPeerIsLeftOut(t, lamport.Options{Detect: true}, lamport.New)
}

func TestReconnectResumes(t *testing.T) {
	peertest.ReconnectResumes(t, lamport.Options{}, lamport.New)
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		lamport.Name:                lamport.Name + ":detect=off",
		lamport.Name + ":detect=on": lamport.Name + ":detect=on",
	} {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		o, err := lamport.ParseOptions(spec)
		if err != nil || o.String() != want {
			t.Errorf("%s: want %s, got %s, %v", text, want, o, err)
		}
	}
	for _, text := range []string{"other", lamport.Name + ":detect=maybe", lamport.Name + ":fair=on", lamport.Name + ":quick"} {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lamport.ParseOptions(spec); !errors.Is(err, locks.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", text, err)
		}
	}
}
