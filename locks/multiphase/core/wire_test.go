package core

import (
	"testing"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peertest"
)

func FuzzDecode(f *testing.F) {
	peertest.FuzzDecode(f, DefaultOptions().Algorithm(),
		Message{Kind: MyLock, Round: 1, View: peercore.SetOf(0, 63)},
		Message{Kind: YourLock, Round: 1 << 40, Lurks: true},
		Message{Kind: LockReset},
	)
}
