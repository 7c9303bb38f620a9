package fsm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// ErrCorrupt says that bytes are not an entry or a snapshot of this package.
var ErrCorrupt = errors.New("raftlock: corrupt encoding")

const (
	entryVersion    = 1
	snapshotVersion = 1
)

// AppendEntry appends the encoding of the entry to b: a version byte, then
// unsigned varints, strings with their length before them.
func AppendEntry(b []byte, e Entry) []byte {
	b = append(b, entryVersion)
	b = binary.AppendUvarint(b, e.Origin)
	b = binary.AppendUvarint(b, e.Number)
	b = binary.AppendUvarint(b, uint64(len(e.Commands)))
	for i := range e.Commands {
		b = appendCommand(b, &e.Commands[i])
	}
	return b
}

func appendCommand(b []byte, c *Command) []byte {
	b = append(b, byte(c.Kind))
	if c.Kind == KindOpen {
		b = appendString(b, c.Client)
		return binary.AppendUvarint(b, uint64(c.Lease/time.Millisecond))
	}
	b = binary.AppendUvarint(b, c.Session)
	switch c.Kind {
	case KindRenew:
		b = binary.AppendUvarint(b, c.Seq)
	case KindAcquire, KindRelease:
		b = binary.AppendUvarint(b, c.Seq)
		b = binary.AppendUvarint(b, c.Floor)
		if c.Kind == KindAcquire {
			b = appendString(b, c.Resource)
		} else {
			b = binary.AppendUvarint(b, c.Claim)
		}
	case KindExpire:
		b = binary.AppendUvarint(b, c.Seen)
	case KindOpen, KindClose:
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// DecodeEntry reads what AppendEntry wrote. The commands are appended to
// commands[:0], so that a caller can use the same space again.
func DecodeEntry(b []byte, commands []Command) (Entry, error) {
	r := reader{rest: b}
	if v := r.byte(); v != entryVersion && r.err == nil {
		return Entry{}, fmt.Errorf("decode entry: version %d, want %d: %w", v, entryVersion, ErrCorrupt)
	}
	e := Entry{Origin: r.uvarint(), Number: r.uvarint(), Commands: commands[:0]}
	for range r.count() {
		e.Commands = append(e.Commands, r.command())
		if r.err != nil {
			break
		}
	}
	if r.err == nil && len(r.rest) > 0 {
		r.fail("bytes after the end")
	}
	if r.err != nil {
		return Entry{}, fmt.Errorf("decode entry: %w", r.err)
	}
	return e, nil
}

func (r *reader) command() Command {
	c := Command{Kind: Kind(r.byte())}
	if c.Kind == KindOpen {
		c.Client, c.Lease = r.string(), r.lease()
		return c
	}
	c.Session = r.uvarint()
	switch c.Kind {
	case KindRenew:
		c.Seq = r.uvarint()
	case KindAcquire:
		c.Seq, c.Floor, c.Resource = r.uvarint(), r.uvarint(), r.string()
	case KindRelease:
		c.Seq, c.Floor, c.Claim = r.uvarint(), r.uvarint(), r.uvarint()
	case KindExpire:
		c.Seen = r.uvarint()
	case KindClose:
	default:
		r.fail("unknown kind of command")
	}
	return c
}

// reader reads varints until the first error, which it keeps.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %w", why, ErrCorrupt)
	}
	r.rest = nil
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail("too short")
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail("bad number")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads how many items follow. Every item takes a byte at least, so a
// count beyond what is left is corrupt, and no memory is taken on its word.
func (r *reader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.rest)) {
		r.fail("count beyond the end")
		return 0
	}
	return int(n)
}

func (r *reader) string() string {
	n := r.count()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) lease() time.Duration {
	ms := r.uvarint()
	if ms > uint64(MaxLease/time.Millisecond) {
		r.fail("lease too long")
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}
