package quorum

import (
	"math"
	"testing"

	"locklab/verify/peertest"
)

func FuzzDecode(f *testing.F) {
	messages := []Message{
		{Kind: MyLock, Token: math.MaxUint64, Seq: math.MaxUint32}, {Kind: LockReset, Used: true}, {Kind: Floor, Recovering: true},
	}
	for kind := MyLock; kind <= Floor; kind++ {
		messages = append(messages, Message{Kind: kind, Token: 1 << 40})
	}
	peertest.FuzzDecode(f, Options{}.Algorithm(), messages...)
}

// TestDecodeAllocates: no message, however long it claims to be, costs memory.
func TestDecodeAllocates(t *testing.T) {
	b := append(Append(nil, Message{Kind: MyLock, Token: math.MaxUint64, Seq: math.MaxUint32}), make([]byte, 1<<16)...)
	n := testing.AllocsPerRun(100, func() {
		if _, _, err := Decode(b); err != nil {
			t.Error(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}
