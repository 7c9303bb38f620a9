package lamport

import (
	"bytes"
	"errors"
	"testing"

	"locklab/locks/lamport/core"
	"locklab/locks/peerlock"
)

// FuzzDecode feeds any bytes. What is read must read the same when it is written
// again, and the name must be the end of what came.
func FuzzDecode(f *testing.F) {
	for kind := core.Request; kind <= core.Release; kind++ {
		f.Add(append(appendMessage(nil, core.Message{Kind: kind, At: 1 << 40}), "name"...))
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
		if m.Kind < core.Request || m.Kind > core.Release || !bytes.HasSuffix(b, name) {
			t.Fatalf("read %v and name %q from %q", m, name, b)
		}
		again, rest, err := decodeMessage(append(appendMessage(nil, m), name...))
		if err != nil || again != m || !bytes.Equal(rest, name) {
			t.Fatalf("%v and %q read again as %v and %q, %v", m, name, again, rest, err)
		}
	})
}
