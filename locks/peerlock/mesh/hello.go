package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// version of the wire format. Peers with different versions refuse each other.
const version = 3

// maxHello bounds the frames of the handshake, in bytes.
const maxHello = 2048

// The bodies of the handshake's frames start with one of these.
const (
	tagHello  = 'H'
	tagRefuse = 'R'
)

// ErrRefused says that a peer does not fit: another version, cluster or protocol,
// or an identity that is not the configured one.
var ErrRefused = errors.New("mesh: refused")

// hello is what each side says of itself first.
type hello struct {
	Version     uint64
	Cluster     string
	Protocol    string
	ID          string
	Rank        uint64
	Incarnation uint64
	Attempt     uint64 // counts the dials of one incarnation to this peer
}

func (h hello) encode() []byte {
	b := []byte{tagHello}
	b = binary.AppendUvarint(b, h.Version)
	for _, s := range []string{h.Cluster, h.Protocol, h.ID} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	b = binary.AppendUvarint(b, h.Rank)
	b = binary.AppendUvarint(b, h.Incarnation)
	return binary.AppendUvarint(b, h.Attempt)
}

func encodeRefuse(why string) []byte {
	const longest = 512
	return append([]byte{tagRefuse}, why[:min(len(why), longest)]...)
}

// decodeHello reads the body of a handshake's frame. A refusal by the other side
// is an error that wraps ErrRefused.
func decodeHello(b []byte) (hello, error) {
	d := decoder{rest: b}
	switch d.byte() {
	case tagHello:
	case tagRefuse:
		return hello{}, fmt.Errorf("by the other side: %q: %w", d.rest, ErrRefused)
	default:
		return hello{}, fmt.Errorf("no hello: %w", errMalformed)
	}
	h := hello{Version: d.uvarint()}
	if !d.bad && h.Version != version {
		return h, nil // the rest may look different; check will say so
	}
	h.Cluster, h.Protocol, h.ID = d.string(), d.string(), d.string()
	h.Rank, h.Incarnation, h.Attempt = d.uvarint(), d.uvarint(), d.uvarint()
	if d.bad || len(d.rest) > 0 {
		return hello{}, fmt.Errorf("hello: %w", errMalformed)
	}
	return h, nil
}

// decoder reads fields one after another and remembers whether one was bad.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) string() string {
	n := d.uvarint()
	if d.bad || n > maxName || n > uint64(len(d.rest)) {
		d.bad = true
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// check says what is wrong with a peer that says h, or "".
func (m *Mesh) check(h hello) (*peer, string) {
	switch {
	case h.Version != version:
		return nil, fmt.Sprintf("wire version %d is not %d", h.Version, version)
	case h.Cluster != m.cfg.Cluster:
		return nil, fmt.Sprintf("cluster %q is not %q", h.Cluster, m.cfg.Cluster)
	case h.Protocol != m.cfg.Protocol:
		return nil, fmt.Sprintf("protocol %q is not %q", h.Protocol, m.cfg.Protocol)
	}
	for _, p := range m.peers {
		switch {
		case p.ID == h.ID && uint64(p.Rank) == h.Rank:
			return p, ""
		case p.ID == h.ID:
			return nil, fmt.Sprintf("rank %d of %q is not %d", h.Rank, h.ID, p.Rank)
		case uint64(p.Rank) == h.Rank:
			return nil, fmt.Sprintf("id %q of rank %d is not %q", h.ID, h.Rank, p.ID)
		}
	}
	return nil, fmt.Sprintf("%q of rank %d is not configured as a peer of %q", h.ID, h.Rank, m.cfg.Self.ID)
}

// readHello reads one frame of the handshake, byte by byte at first so that
// nothing of what follows is swallowed.
func readHello(conn net.Conn) (hello, error) {
	size, err := binary.ReadUvarint(byteReader{conn})
	switch {
	case err != nil:
		return hello{}, fmt.Errorf("read hello: %w", err)
	case size > maxHello:
		return hello{}, fmt.Errorf("hello of %d bytes: %w", size, errFrameTooLarge)
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(conn, body); err != nil {
		return hello{}, fmt.Errorf("read hello: %w", err)
	}
	return decodeHello(body)
}

type byteReader struct{ r io.Reader }

func (b byteReader) ReadByte() (byte, error) {
	var one [1]byte
	_, err := io.ReadFull(b.r, one[:])
	return one[0], err
}

func writeFrame(conn net.Conn, body []byte) error {
	if _, err := conn.Write(appendFrame(nil, body)); err != nil {
		return fmt.Errorf("write hello: %w", err)
	}
	return nil
}
