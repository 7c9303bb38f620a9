package twophase_test

import (
	"testing"

	"go.uber.org/goleak"

	"locklab/locks/locktest"
	"locklab/locks/twophase"
	"locklab/verify/peertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLock(t *testing.T) {
	peertest.NeedsEveryPeer(t, locktest.Options(t, twophase.ParseOptions, "2pc"), twophase.New)
}

func TestOptions(t *testing.T) {
	locktest.Specs(t, twophase.ParseOptions, map[string]string{
		"2pc": "", "2pc:delay=0s": "positive", "2pc:detect=on": "unknown option", "2pc:quick": "it has none",
	})
	if o := locktest.Options(t, twophase.ParseOptions, "2pc:delay=250us,fair=off"); o.String() != "2pc:delay=250µs,fair=off" {
		t.Errorf("got %v", o)
	}
}
