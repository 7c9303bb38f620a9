package twophase_test

import (
	"errors"
	"testing"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/peerlock/peertest"
	"locklab/locks/twophase"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConforms(t *testing.T) {
	locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
		return peertest.Supervised(tb, peertest.Configs(tb, 3, twophase.Options{}), twophase.New)
	}})
}

func TestMessagesOfAnAcquisition(t *testing.T) {
	for _, peers := range []int{1, 2, 3, 5} {
		all := peertest.StartAll(t, peertest.Configs(t, peers, twophase.Options{}), twophase.New)
		peertest.CountMessages(t, all, 4)
	}
}

func TestManyNames(t *testing.T) {
	peertest.ManyNames(t, peertest.StartAll(t, peertest.Configs(t, 3, twophase.Options{}), twophase.New))
}

func TestDeadPeerBlocks(t *testing.T) {
	peertest.DeadPeerBlocks(t, twophase.Options{}, twophase.New)
}

func TestReconnectResumes(t *testing.T) {
	peertest.ReconnectResumes(t, twophase.Options{}, twophase.New)
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"2pc": "2pc:delay=1ms,fair=on", "2pc:delay=250us,fair=off": "2pc:delay=250µs,fair=off",
	} {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		o, err := twophase.ParseOptions(spec)
		if err != nil || o.String() != want {
			t.Errorf("%s: want %s, got %s, %v", text, want, o, err)
		}
	}
	for _, text := range []string{"other", "2pc:delay=0s", "2pc:detect=on", "2pc:quick"} {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := twophase.ParseOptions(spec); !errors.Is(err, locks.ErrInvalid) {
			t.Errorf("%s: want ErrInvalid, got %v", text, err)
		}
	}
}
