package ricartagrawala_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/ricartagrawala"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConforms(t *testing.T) {
	locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
		return peertest.Supervised(tb, peertest.Configs(tb, 3, ricartagrawala.Options{}), ricartagrawala.New)
	}})
}

func TestConformsWithDetection(t *testing.T) {
	locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
		return peertest.Lockers(peertest.StartAll(tb, peertest.Configs(tb, 3, ricartagrawala.Options{Detect: true}), ricartagrawala.New))
	}})
}

func TestMessagesOfAnAcquisition(t *testing.T) {
	for _, peers := range []int{1, 2, 3, 5} {
		all := peertest.StartAll(t, peertest.Configs(t, peers, ricartagrawala.Options{}), ricartagrawala.New)
		peertest.CountMessages(t, all, 2)
	}
}

func TestManyNames(t *testing.T) {
	peertest.ManyNames(t, peertest.StartAll(t, peertest.Configs(t, 3, ricartagrawala.Options{}), ricartagrawala.New))
}

func TestDeadPeerBlocks(t *testing.T) {
	peertest.DeadPeerBlocks(t, ricartagrawala.Options{}, ricartagrawala.New)
}

func TestDeadPeerIsLeftOut(t *testing.T) {
	peertest.DeadPeerIsLeftOut(t, ricartagrawala.Options{Detect: true}, ricartagrawala.New)
}

func TestReconnectResumes(t *testing.T) {
	peertest.ReconnectResumes(t, ricartagrawala.Options{}, ricartagrawala.New)
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		ricartagrawala.Name:                ricartagrawala.Name + ":detect=off",
		ricartagrawala.Name + ":detect=on": ricartagrawala.Name + ":detect=on",
	} {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		o, err := ricartagrawala.ParseOptions(spec)
		if err != nil || o.String() != want {
			t.Errorf("%s: want %s, got %s, %v", text, want, o, err)
		}
	}
	for _, text := range []string{"other", ricartagrawala.Name + ":detect=maybe", ricartagrawala.Name + ":fair=on", ricartagrawala.Name + ":quick"} {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ricartagrawala.ParseOptions(spec); !errors.Is(err, locks.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", text, err)
		}
	}
}
