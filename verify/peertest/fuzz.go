package peertest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// FuzzDecode feeds any bytes to the algorithm's Decode. What is read must read the same
// when it is written again, and the name must be the end of what came.
func FuzzDecode[S any, M comparable](f *testing.F, alg peercore.Algorithm[S, M], messages ...M) {
	for _, m := range messages {
		f.Add(append(alg.Append(nil, m), "name"...))
	}
	for _, b := range [][]byte{{}, {0}, {1}, {0x81, 1, 1, 'x'}, {1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, bytes.Repeat([]byte{0xff}, 20)} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, name, err := alg.Decode(b)
		if err != nil {
			if !errors.Is(err, peerlock.ErrMalformed) {
				t.Fatalf("want ErrMalformed, got %v", err)
			}
			return
		}
		if text := fmt.Sprint(m); text == "" || !bytes.HasSuffix(b, name) { // kinds have names, or this panics
			t.Fatalf("read %v and name %q from %q", m, name, b)
		}
		again, rest, err := alg.Decode(append(alg.Append(nil, m), name...))
		if err != nil || again != m || !bytes.Equal(rest, name) {
			t.Fatalf("%v and %q read again as %v and %q, %v", m, name, again, rest, err)
		}
	})
}
