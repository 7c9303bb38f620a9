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
	peertest.Options(t, twophase.ParseOptions, map[string]string{
		"2pc": "2pc:delay=1ms,fair=on", "2pc:delay=250us,fair=off": "2pc:delay=250µs,fair=off",
		"2pc:delay=0s": "", "2pc:detect=on": "", "2pc:quick": "",
	})
}
