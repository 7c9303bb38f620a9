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
	sector    = 512     // bytes of which a disk keeps all or none, or a multiple of it
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

// validHead says that b begins with the head of a frame.
func validHead(b []byte) bool {
	return len(b) >= headBytes && binary.LittleEndian.Uint32(b) <= bodyMost &&
		binary.LittleEndian.Uint32(b[4:]) == checksum(b[:4])
}

// lacksBegin says that b, which is at that offset of the file, begins a sector or goes on
// with one that was not written, and has no whole frame behind it. The latter would have
// been written only after the former was on disk.
func lacksBegin(b []byte, at int) bool {
	first := b[:min(len(b), sector-at%sector)]
	if len(bytes.Trim(first, "\x00")) != 0 {
		return false
	}
	for b = b[len(first):]; len(b) >= headBytes; b = b[1:] {
		if !validHead(b) {
			continue
		}
		if size := uint64(binary.LittleEndian.Uint32(b)); uint64(len(b)) >= headBytes+size &&
			binary.LittleEndian.Uint32(b[8:]) == checksum(b[headBytes:headBytes+size]) {
			return false
		}
	}
	return true
}

// cutFrame splits the first frame off b, which is at that offset of the file. It says torn
// if b ends within the frame, or with it and its body is not what was written, or lacks its
// begin: as after a power cut.
func cutFrame(b []byte, at int) (body, rest []byte, torn bool, err error) {
	if len(b) < headBytes {
		return nil, nil, true, nil
	}
	if !validHead(b) {
		if lacksBegin(b, at) {
			return nil, nil, true, nil
		}
		return nil, nil, false, fmt.Errorf("what should be the length of a frame is none: %w", ErrCorrupt)
	}
	size := binary.LittleEndian.Uint32(b)
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
	first, rest, torn, err := cutFrame(b, 0)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", at(), err)
	case torn || !bytes.HasPrefix(first, []byte(magic)):
		return 0, fmt.Errorf("it does not begin as a journal does: %w", ErrCorrupt)
	case string(first[len(magic):]) != owner:
		return 0, fmt.Errorf("it is that of %s, not of %s: %w", first[len(magic):], owner, ErrCorrupt)
	}
	for length = len(b) - len(rest); len(rest) > 0; length = len(b) - len(rest) {
		body, after, torn, err := cutFrame(rest, length)
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
