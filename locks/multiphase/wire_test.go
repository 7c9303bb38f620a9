package multiphase

import (
	"bytes"
	"testing"

	"locklab/locks/multiphase/core"
)

func FuzzDecodeMessage(f *testing.F) {
	f.Add(appendMessage(nil, "a", core.Message{Kind: core.MyLock, Round: 1, View: core.SetOf(0, 63)}))
	f.Add(appendMessage(nil, "room/7", core.Message{Kind: core.YourLock, Round: 1 << 40, Lurks: true}))
	f.Add(appendMessage(nil, "x", core.Message{Kind: core.LockReset}))
	f.Add([]byte{1, 0xff})
	f.Add([]byte{0x81, 1, 1, 'x'})
	f.Fuzz(func(t *testing.T, data []byte) {
		name, m, err := decodeMessage(data)
		if err != nil {
			return
		}
		again, m2, err := decodeMessage(appendMessage(nil, string(name), m))
		if err != nil || m2 != m || !bytes.Equal(again, name) {
			t.Fatalf("%q %v becomes %q %v, %v", name, m, again, m2, err)
		}
	})
}
