package multiphase

import (
	"bytes"
	"errors"
	"testing"

	"locklab/locks/multiphase/core"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// FuzzDecode feeds any bytes. What is read must read the same when it is written
// again, and the name must be the end of what came.
func FuzzDecode(f *testing.F) {
	for _, m := range []core.Message{
		{Kind: core.MyLock, Round: 1, View: peercore.SetOf(0, 63)},
		{Kind: core.YourLock, Round: 1 << 40, Lurks: true},
		{Kind: core.LockReset},
	} {
		f.Add(append(appendMessage(nil, m), "name"...))
	}
	f.Add([]byte{0x81, 1, 1, 'x'})
	f.Add([]byte{})
	f.Add([]byte{0})
	f.Add([]byte{1})
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, name, err := decodeMessage(b)
		if err != nil {
			if !errors.Is(err, peerlock.ErrMalformed) {
				t.Fatalf("want ErrMalformed, got %v", err)
			}
			return
		}
		if m.Kind < core.MyLock || m.Kind > core.LockReset || !bytes.HasSuffix(b, name) {
			t.Fatalf("read %v and name %q from %q", m, name, b)
		}
		again, rest, err := decodeMessage(append(appendMessage(nil, m), name...))
		if err != nil || again != m || !bytes.Equal(rest, name) {
			t.Fatalf("%v and %q read again as %v and %q, %v", m, name, again, rest, err)
		}
	})
}
