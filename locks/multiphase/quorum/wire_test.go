package quorum

import (
	"math"
	"testing"

	"locklab/verify/peertest"
)

func FuzzDecode(f *testing.F) {
	messages := []Message{{Kind: MyLock, Token: math.MaxUint64, Seq: math.MaxUint32}, {Kind: LockReset, Used: true}}
	for kind := MyLock; kind <= Stale; kind++ {
		messages = append(messages, Message{Kind: kind, Token: 1 << 40})
	}
	peertest.FuzzDecode(f, Algorithm(), messages...)
}
