package quorum

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"locklab/locks/peerlock"
)

// FuzzDecode feeds any bytes. What is read must read the same when it is written
// again, and the name must be the end of what came.
func FuzzDecode(f *testing.F) {
	for kind := MyLock; kind <= Floor; kind++ {
		f.Add(append(Append(nil, Message{Kind: kind, Token: 1 << 40}), "name"...))
	}
	f.Add(Append(nil, Message{Kind: MyLock, Token: math.MaxUint64, Seq: math.MaxUint32}))
	f.Add(Append(nil, Message{Kind: LockReset, Used: true}))
	f.Add(Append(nil, Message{Kind: Floor, Recovering: true}))
	f.Add([]byte{})
	f.Add([]byte{0})
	f.Add([]byte{0x81, 1})
	f.Add([]byte{1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, name, err := Decode(b)
		if err != nil {
			if !errors.Is(err, peerlock.ErrMalformed) {
				t.Fatalf("want ErrMalformed, got %v", err)
			}
			return
		}
		if m.Kind < MyLock || m.Kind > Floor || !bytes.HasSuffix(b, name) {
			t.Fatalf("read %v and name %q from %q", m, name, b)
		}
		again, rest, err := Decode(append(Append(nil, m), name...))
		if err != nil || again != m || !bytes.Equal(rest, name) {
			t.Fatalf("%v and %q read again as %v and %q, %v", m, name, again, rest, err)
		}
	})
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
