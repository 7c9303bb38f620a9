package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// ErrCorrupt says that a file is no journal, or a damaged one.
var ErrCorrupt = errors.New("journal: corrupt")

// magic begins the body of the first frame; the owner follows.
const magic = "locklab journal 1\n"

const (
	headBytes = 12      // length of the body, checksum of these four bytes, checksum of the body
	bodyMost  = 1 << 30 // bytes
)

func checksum(body []byte) uint32 { return crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) }

// seal fills in the head of the frame that begins b, whose body is there.
func seal(b []byte) []byte {
	body := b[headBytes:]
	binary.LittleEndian.PutUint32(b, uint32(len(body))) //nolint:gosec // below bodyMost
	binary.LittleEndian.PutUint32(b[4:], checksum(b[:4]))
	binary.LittleEndian.PutUint32(b[8:], checksum(body))
	return b
}

func appendRecord(b, record []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(record))), record...)
}

// header is the first frame.
func header(owner string) []byte {
	return seal(append(append(make([]byte, headBytes), magic...), owner...))
}

// cutFrame splits the first frame off b. It says torn if b ends within the frame, or with
// it and its body is not what was written, or in nothing but zeros: as after a power cut.
func cutFrame(b []byte) (body, rest []byte, torn bool, err error) {
	if len(b) < headBytes || len(bytes.Trim(b, "\x00")) == 0 {
		return nil, nil, true, nil
	}
	size := binary.LittleEndian.Uint32(b)
	if size > bodyMost || binary.LittleEndian.Uint32(b[4:]) != checksum(b[:4]) {
		return nil, nil, false, fmt.Errorf("what should be the length of a frame is none: %w", ErrCorrupt)
	}
	if uint64(len(b)) < headBytes+uint64(size) {
		return nil, nil, true, nil
	}
	body, rest = b[headBytes:headBytes+size], b[headBytes+size:]
	if binary.LittleEndian.Uint32(b[8:]) != checksum(body) {
		if len(rest) == 0 {
			return nil, nil, true, nil
		}
		return nil, nil, false, fmt.Errorf("the checksum of a frame is wrong: %w", ErrCorrupt)
	}
	return body, rest, false, nil
}

// decode reads a whole file: its records, in order, and how many bytes of it count.
func decode(b []byte, owner string, record func([]byte) error) (length int, err error) {
	at := func() string { return fmt.Sprintf("at byte %d of %d", length, len(b)) }
	first, rest, torn, err := cutFrame(b)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", at(), err)
	case torn || !bytes.HasPrefix(first, []byte(magic)):
		return 0, fmt.Errorf("it does not begin as a journal does: %w", ErrCorrupt)
	case string(first[len(magic):]) != owner:
		return 0, fmt.Errorf("it is that of %s, not of %s: %w", first[len(magic):], owner, ErrCorrupt)
	}
	for length = len(b) - len(rest); len(rest) > 0; length = len(b) - len(rest) {
		body, after, torn, err := cutFrame(rest)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", at(), err)
		}
		if torn {
			return length, nil
		}
		for len(body) > 0 {
			size, n := binary.Uvarint(body)
			if n <= 0 || size > uint64(len(body)-n) {
				return 0, fmt.Errorf("%s: a record is longer than its frame: %w", at(), ErrCorrupt)
			}
			if err := record(body[n : n+int(size)]); err != nil { //nolint:gosec // it fits into the frame
				return 0, fmt.Errorf("%s: %w", at(), err)
			}
			body = body[n+int(size):] //nolint:gosec // likewise
		}
		rest = after
	}
	return length, nil
}
