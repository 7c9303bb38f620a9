package link

import (
	"errors"
	"io"
	"net"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	// chunkSize is how much is read at once.
	chunkSize = 16 << 10
	// maxUnderWay bounds what one direction of a connection keeps between the two
	// sockets: what is held, delayed, or not yet taken by the receiver.
	maxUnderWay = 1 << 20
)

// pipe is one direction of a connection: it reads from one socket, the toxics
// pass the bytes on, and the pipe's sink writes them to the other.
//
// Its sink never blocks and its source stops reading at maxUnderWay, so that the
// stages between them always move and can be rearranged at any time.
type pipe struct {
	conn     *conn
	way      Direction
	from, to *net.TCPConn
	raw      rawWriter
	head     []byte // read before the pipe was there

	mu       sync.Mutex
	moved    *sync.Cond // underWay, blocked or the connection's death changed
	underWay int64      // bytes read and neither written, swallowed nor thrown away
	blocked  int        // holds and drops in force
	lost     bool       // bytes were swallowed
	pending  []byte     // due, but not yet taken by the socket
	pumping  bool
	parcels  []parcel // what was read and did not come out of the toxics, oldest first
}

func newPipe(c *conn, way Direction, from, to *net.TCPConn, head []byte) (*pipe, error) {
	raw, err := to.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &pipe{conn: c, way: way, from: from, to: to, head: head, raw: rawWriter{conn: raw}}
	p.moved = sync.NewCond(&p.mu)
	return p, nil
}

// source is the reading end. It is handed to toxiproxy, which calls WriteTo.
type source struct{ *pipe }

var _ io.WriterTo = source{}

// Read is never called: io.Copy prefers WriteTo.
func (source) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// WriteTo feeds the toxics until the stream has ended and all of it arrived, so
// that they are empty when toxiproxy takes them down. It returns with the
// connection's change lock held for reading; the sink's Close gives it back.
func (s source) WriteTo(w io.Writer) (total int64, _ error) {
	p := s.pipe
	feed := func(b []byte) {
		p.mu.Lock()
		p.underWay += int64(len(b))
		p.arrived(int64(len(b)))
		p.mu.Unlock()
		_, _ = w.Write(b) // into a channel: it cannot fail
		total += int64(len(b))
	}
	for len(p.head) > 0 {
		n := min(len(p.head), chunkSize)
		feed(p.head[:n])
		p.head = p.head[n:]
	}
	buf := make([]byte, chunkSize)
	for {
		p.awaitRoom()
		n, err := p.from.Read(buf)
		if n > 0 {
			feed(buf[:n])
		}
		if err != nil {
			p.finish(err)
			return total, nil
		}
	}
}

// wake has everybody look again who waits for something to move.
func (p *pipe) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved.Broadcast()
}

// swallowed is told by a drop what it took.
func (p *pipe) swallowed(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = true
	p.underWay -= int64(bytes)
	p.moved.Broadcast()
}

func (p *pipe) awaitRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.underWay >= maxUnderWay {
		p.moved.Wait()
	}
}

// finish waits until the end of the stream may arrive at the other side.
func (p *pipe) finish(err error) {
	p.conn.link.sleep(p.conn.link.delay(p.way), p.conn.died)
	for {
		p.mu.Lock()
		for !p.mayEnd() {
			p.moved.Wait()
		}
		p.mu.Unlock()
		// From here to the sink's Close no toxic may be added or removed.
		p.conn.change.RLock()
		p.mu.Lock()
		sure := p.mayEnd()
		p.mu.Unlock()
		if sure {
			break
		}
		p.conn.change.RUnlock()
	}
	if !errors.Is(err, io.EOF) {
		p.conn.kill()
	}
}

// mayEnd says that nothing is under way and nothing blocks. The caller holds mu.
func (p *pipe) mayEnd() bool {
	return p.underWay == 0 && (p.blocked == 0 || p.conn.isDead())
}

func (p *pipe) block(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked += by
	p.moved.Broadcast()
}

func (p *pipe) isBlocked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blocked > 0
}

func (p *pipe) hasHole() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// sink is the writing end. toxiproxy copies the last toxic's output into it.
type sink struct{ *pipe }

var _ io.ReaderFrom = sink{}

// ReadFrom does what io.Copy does, with a smaller buffer.
func (s sink) ReadFrom(r io.Reader) (total int64, err error) {
	buf := make([]byte, chunkSize)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			_, _ = s.Write(buf[:n])
			total += int64(n)
		}
		if err != nil {
			return total, nil //nolint:nilerr // the end of a channel is the only error
		}
	}
}

// Write hands the bytes to the socket, or keeps those that it does not take. It
// does not block and does not fail: bytes for a dead connection are thrown away.
func (s sink) Write(b []byte) (int, error) {
	p := s.pipe
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.conn.isDead() {
		p.passed(int64(len(b)))
	}
	written := 0
	if !p.pumping && !p.conn.isDead() {
		written = p.raw.write(b)
	}
	switch {
	case written == len(b), p.conn.isDead():
		p.underWay -= int64(len(b))
		p.moved.Broadcast()
	default:
		p.underWay -= int64(written)
		p.pending = append(p.pending, b[written:]...)
		if !p.pumping {
			p.pumping = true
			go p.pump()
		}
	}
	return len(b), nil
}

// pump writes what the socket did not take at once, and ends when it is through.
// After an error it throws away: the other direction's reader meets the same error
// and passes it on. Where that direction has ended before, the connection is reset
// here, unless a reset could not travel back now.
func (p *pipe) pump() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.pending) > 0 {
		batch := p.pending
		p.pending = nil
		p.mu.Unlock()
		_, err := p.to.Write(batch)
		if err != nil && p.conn.running.Load() < 2 && !p.conn.other(p).isBlocked() {
			p.conn.kill()
		}
		p.mu.Lock()
		p.underWay -= int64(len(batch))
		p.moved.Broadcast()
	}
	p.pumping = false
}

// Close passes the end of the stream on.
func (s sink) Close() error {
	if !s.conn.isDead() {
		_ = s.to.CloseWrite() // fails if the peer is gone, which the other direction notices
	}
	s.conn.change.RUnlock()
	s.conn.ended()
	return nil
}

// rawWriter tries to write to a socket without waiting for it.
type rawWriter struct {
	conn interface {
		Write(func(fd uintptr) bool) error
	}
}

// write returns how many bytes the socket took at once. Errors are left to the
// write that follows with the rest.
func (w rawWriter) write(b []byte) (n int) {
	_ = w.conn.Write(func(fd uintptr) bool {
		var err error
		n, err = unix.Write(int(fd), b)
		if err != nil {
			n = 0
		}
		return true
	})
	return max(n, 0)
}
