package mesh

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// The reasons for the end of a link, besides network errors.
var (
	// ErrSilent says that the peer sent nothing for too long.
	ErrSilent = errors.New("mesh: peer is silent")
	// ErrReplaced says that the peer has a newer connection.
	ErrReplaced = errors.New("mesh: connection replaced")
	// ErrClosed says that this mesh was closed.
	ErrClosed = errors.New("mesh: closed")
)

// frameMost bounds a payload, in bytes.
const frameMost = 64 << 10

var errMalformed = errors.New("mesh: malformed frame")

// Link is one connection to one peer, from Connected to Disconnected. On the wire each
// payload follows its length, an unsigned varint; a length of 0 is a heartbeat.
type Link struct {
	mesh   *Mesh
	peer   *peer
	conn   net.Conn
	raw    syscall.RawConn // conn, for writes that do not block; nil if it has none
	reader *bufio.Reader

	incarnation, attempt uint64 // from the peer's hello: they tell which of two connections is newer

	heardAt atomic.Int64 // on the mesh's running clock

	mu      sync.Mutex
	out     []byte // queued
	spare   []byte // alternates with out
	writing bool   // a buffer taken from out is being written
	cause   error  // why the link ended; nil while it lives
	writers sync.WaitGroup
}

func newLink(m *Mesh, conn net.Conn) *Link {
	l := &Link{mesh: m, conn: conn}
	if sc, ok := conn.(syscall.Conn); ok {
		l.raw, _ = sc.SyscallConn() // nil if it fails
	}
	l.reader = bufio.NewReaderSize(arrivals{l}, frameMost)
	return l
}

// Rank is the rank of the peer at the other end.
func (l *Link) Rank() int { return l.peer.Rank }

// Send queues a copy of one payload, of at most 64 KiB, until the next flush. An empty payload is
// a heartbeat. After the link has ended, Send does nothing.
func (l *Link) Send(payload []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		l.out = append(binary.AppendUvarint(l.out, uint64(len(payload))), payload...)
	}
}

// Flush writes the queued payloads. It never blocks: a goroutine writes the part that the socket does not
// take at once. If a flush is already writing, that one continues with the new payloads.
func (l *Link) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) > 0 && !l.writing && l.cause == nil {
		buf := l.out
		l.out, l.spare, l.writing = l.spare[:0], nil, true
		l.mu.Unlock()
		n, err := l.tryWrite(buf)
		l.mu.Lock()
		if err == nil && n < len(buf) && l.cause == nil {
			l.writers.Go(func() { l.write(buf[n:]) })
			return
		}
		l.wrote(err)
		l.spare = buf
	}
}

// tryWrite writes as much as the socket takes without blocking.
func (l *Link) tryWrite(b []byte) (n int, err error) {
	if l.raw == nil {
		return 0, nil
	}
	ended := l.raw.Write(func(fd uintptr) bool {
		n, err = unix.Write(int(fd), b) //nolint:gosec // descriptors are small
		return true
	})
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		err = nil
	}
	return max(n, 0), errors.Join(ended, err)
}

// write writes the rest of a flush, and blocks.
func (l *Link) write(rest []byte) {
	_, err := l.conn.Write(rest)
	l.mu.Lock()
	l.wrote(err)
	l.mu.Unlock()
	l.Flush()
}

func (l *Link) wrote(err error) {
	l.writing = false
	if err != nil {
		l.endLocked(fmt.Errorf("write: %w", err))
	}
}

// fail ends the link; its reader then delivers Disconnected.
func (l *Link) fail(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(cause)
}

func (l *Link) endLocked(cause error) {
	if l.cause == nil {
		l.cause, l.out, l.spare = cause, nil, nil
		_ = l.conn.Close() // its error changes nothing
	}
}

func (l *Link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// read delivers payloads until the connection ends, and returns the reason.
func (l *Link) read() error {
	for {
		payload, err := l.readFrame()
		if err == nil && len(payload) > 0 {
			err = l.mesh.cfg.Handler.Receive(l, payload)
		}
		if err != nil {
			return err
		}
	}
}

// readFrame reads a payload, which is valid until the next call.
func (l *Link) readFrame() ([]byte, error) {
	size, err := binary.ReadUvarint(l.reader)
	if err == nil && size > frameMost {
		err = fmt.Errorf("a payload of %d bytes, at most %d are allowed: %w", size, frameMost, errMalformed)
	}
	var payload []byte
	if err == nil {
		payload, err = l.reader.Peek(int(size)) //nolint:gosec // at most frameMost
	}
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	_, err = l.reader.Discard(len(payload))
	return payload, err
}

// arrivals reads the connection of a link. Before each read it flushes all links, since the handler of
// the payloads before may have queued some.
type arrivals struct{ l *Link }

func (a arrivals) Read(b []byte) (int, error) {
	a.l.mesh.Flush()
	n, err := a.l.conn.Read(b)
	if n > 0 {
		a.l.heardAt.Store(a.l.mesh.ran.Load())
	}
	return n, err
}
