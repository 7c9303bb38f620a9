package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A frame is the length of its body as an unsigned varint, then the body. After
// the handshake a body is one payload; an empty one is a heartbeat.

// lowWater is how many bytes wake a reader where the system can tell. A heartbeat is
// one byte, and is counted without waking anybody; what else is written is never less.
const lowWater = 16

var (
	errFrameTooLarge = errors.New("mesh: frame too large")
	errMalformed     = errors.New("mesh: malformed frame")
)

func appendFrame(b, body []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}

// AppendFrame appends a payload as [Link.SendFrames] takes it. It must not be empty.
func AppendFrame(b, payload []byte) []byte { return appendFrame(b, payload) }

// cutFrame splits the first frame off b. If b holds no whole frame yet, ok is
// false and need is how many bytes the frame has in all, 0 if even that is open.
func cutFrame(b []byte, limit int) (body, rest []byte, need int, ok bool, err error) {
	size, n := binary.Uvarint(b)
	switch {
	case n < 0 || (n == 0 && len(b) >= binary.MaxVarintLen64):
		return nil, nil, 0, false, fmt.Errorf("length is no varint: %w", errMalformed)
	case n == 0:
		return nil, b, 0, false, nil
	case size > uint64(limit):
		return nil, nil, 0, false, fmt.Errorf("%d bytes, at most %d are allowed: %w", size, limit, errFrameTooLarge)
	}
	need = n + int(size)
	if len(b) < need {
		return nil, b, need, false, nil
	}
	return b[n:need:need], b[need:], need, true, nil
}

// Batch is a run of payloads that arrived together.
type Batch struct {
	rest  []byte
	limit int
	need  int
	err   error
	taken int // payloads that Next gave
}

// Next is the next payload, valid until the handler returns.
func (b *Batch) Next() (payload []byte, ok bool) {
	for b.err == nil {
		var body []byte
		body, b.rest, b.need, ok, b.err = cutFrame(b.rest, b.limit)
		if !ok {
			return nil, false
		}
		if len(body) > 0 { // otherwise a heartbeat
			b.taken++
			return body, true
		}
	}
	return nil, false
}
