package twophase

import (
	"bytes"
	"errors"
	"testing"

	"locklab/locks/peerlock"
	"locklab/locks/twophase/core"
)

// FuzzDecode feeds any bytes. What is read must read the same when it is written
// again, and the name must be the end of what came.
func FuzzDecode(f *testing.F) {
	for kind := core.Prepare; kind <= core.YesWaiting; kind++ {
		f.Add(append(appendMessage(nil, core.Message{Kind: kind, Round: 1 << 40}), "name"...))
	}
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
		if m.Kind < core.Prepare || m.Kind > core.YesWaiting || !bytes.HasSuffix(b, name) {
			t.Fatalf("read %v and name %q from %q", m, name, b)
		}
		again, rest, err := decodeMessage(append(appendMessage(nil, m), name...))
		if err != nil || again != m || !bytes.Equal(rest, name) {
			t.Fatalf("%v and %q read again as %v and %q, %v", m, name, again, rest, err)
		}
	})
}
