package mesh

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func FuzzBatch(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, []byte("one")), []byte("two")), 64)
	f.Add([]byte{0, 0, 5, 'x'}, 64)
	f.Add(bytes.Repeat([]byte{0xff}, 11), 64)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		if limit < 1 || limit > 1<<20 {
			return
		}
		b := Batch{rest: data, limit: limit}
		left := len(data)
		for payload, ok := b.Next(); ok; payload, ok = b.Next() {
			if len(payload) == 0 || len(payload) > limit || len(b.rest) >= left {
				t.Fatalf("payload of %d bytes, limit %d, %d bytes left of %d", len(payload), limit, len(b.rest), left)
			}
			left = len(b.rest)
		}
		if b.need > limit+10 {
			t.Fatalf("a frame needs %d bytes, limit %d", b.need, limit)
		}
	})
}

func FuzzDecodeHello(f *testing.F) {
	f.Add(hello{Version: version, Cluster: "c", Protocol: "p", ID: "a", Rank: 3, Incarnation: 1 << 60, Attempt: 7}.encode())
	f.Add(encodeRefuse("no"))
	f.Add([]byte{tagHello, 2, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := decodeHello(data)
		if err != nil || h.Version != version {
			return
		}
		again, err := decodeHello(h.encode())
		if err != nil || again != h {
			t.Fatalf("%+v becomes %+v, %v", h, again, err)
		}
	})
}

func TestRefusalNamesTheReason(t *testing.T) {
	_, err := decodeHello(encodeRefuse("cluster \"a\" is not \"b\""))
	if !errors.Is(err, ErrRefused) || !bytes.Contains([]byte(err.Error()), []byte(`cluster`)) {
		t.Errorf("got %v", err)
	}
}

// TestFramesSurviveAnyChunking cuts a stream of frames anywhere, as TCP may, and
// reads it through a buffer as small as it gets.
func TestFramesSurviveAnyChunking(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent [][]byte
		var stream []byte
		for range rapid.IntRange(1, 30).Draw(t, "frames") {
			body := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "body")
			stream = appendFrame(stream, body)
			if len(body) > 0 {
				sent = append(sent, body)
			}
		}
		buf := make([]byte, rapid.IntRange(16, 200).Draw(t, "buffer"))
		start, end := 0, 0
		var got [][]byte
		for len(stream) > 0 {
			n := copy(buf[end:], stream[:min(len(stream), rapid.IntRange(1, 100).Draw(t, "chunk"))])
			if n == 0 {
				t.Fatalf("no room: %d..%d of %d", start, end, len(buf))
			}
			stream, end = stream[n:], end+n
			b := Batch{rest: buf[start:end], limit: 1000}
			for p, ok := b.Next(); ok; p, ok = b.Next() {
				got = append(got, bytes.Clone(p))
			}
			if b.err != nil {
				t.Fatal(b.err)
			}
			start = end - len(b.rest)
			buf, start, end = makeRoom(buf, start, end, b.need)
		}
		if len(got) != len(sent) {
			t.Fatalf("%d payloads arrived, %d were sent", len(got), len(sent))
		}
		for i := range got {
			if !bytes.Equal(got[i], sent[i]) {
				t.Fatalf("payload %d differs", i)
			}
		}
	})
}
