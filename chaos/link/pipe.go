package link

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"

	"locklab/internal/nowait"
	"locklab/locks/clock"
)

const (
	// chunkSize is how much is read at once.
	chunkSize = 16 << 10
	// maxUnderWay bounds what one direction of a connection keeps between the two
	// sockets: what is held, delayed, or not yet taken by the receiver.
	maxUnderWay = 1 << 20
)

// pipe is one direction of a connection: what it reads from one socket waits for the
// link's base delay, runs through the toxics and is written to the other socket. Where
// there are no toxics it is written at once: that takes a third of the work.
//
//	source ──▶ base delay ──┬─────────────────────────────────────┬──▶ sink
//	           (courier)    └─ feeder ──▶ toxiproxy's toxics ─────┘
//
// Its sink never blocks and its source stops reading at maxUnderWay, so that the
// stages between them always move and can be rearranged at any time.
type pipe struct {
	conn    *conn
	way     Direction
	to      *net.TCPConn
	in, out *nowait.Conn
	head    []byte // read before the pipe was there
	base    Delay
	draw    *rand.Rand // of the base delay's jitter
	due     int64      // of the oldest in delayed; the courier's

	mu       sync.Mutex
	moved    *sync.Cond // underWay, blocked or the connection's death changed
	underWay int64      // bytes read and neither written, swallowed nor thrown away
	blocked  int        // holds and drops in force
	lost     bool       // bytes were swallowed
	delayed  []delayed  // for the base delay
	toxics   int        // how many there are: where there is none, bytes pass them by
	input    io.Writer  // of the toxics
	feed     [][]byte   // what is for input
	feeding  bool
	inToxics int64  // bytes in feed or in the toxics: nothing overtakes them
	pending  []byte // due, but not yet taken by the socket
	pumping  bool
	parcels  []parcel // what was read and did not come out of the toxics, oldest first
}

// delayed is what was read at once, and when it is to go on.
type delayed struct {
	bytes []byte
	due   int64
}

func newPipe(c *conn, way Direction, base Delay, in *nowait.Conn, to *net.TCPConn, out *nowait.Conn, head []byte) *pipe {
	p := &pipe{
		conn: c, way: way, in: in, to: to, out: out, head: head,
		base: base, draw: c.seed.Child("base/" + string(way)).Rand(),
	}
	p.moved = sync.NewCond(&p.mu)
	return p
}

// source is the reading end. It is handed to toxiproxy, which calls WriteTo.
type source struct{ *pipe }

var _ io.WriterTo = source{}

// Read is never called: io.Copy prefers WriteTo.
func (source) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// WriteTo reads until the stream has ended and all of it arrived, so that the toxics
// are empty when toxiproxy takes them down. It returns with the connection's change
// lock held for reading; the sink's Close gives it back.
func (s source) WriteTo(toxics io.Writer) (total int64, _ error) {
	p := s.pipe
	p.input = toxics
	for len(p.head) > 0 {
		n := min(len(p.head), chunkSize)
		p.enter(p.head[:n])
		p.head = p.head[n:]
	}
	buf := make([]byte, chunkSize)
	for {
		p.awaitRoom()
		n, err := p.in.Read(buf)
		if n > 0 {
			p.enter(buf[:n])
			total += int64(n)
		}
		if err != nil {
			p.finish(err)
			return total, nil
		}
	}
}

// enter takes what was read; b may be used again afterwards.
func (p *pipe) enter(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.underWay += int64(len(b))
	p.arrived(int64(len(b)))
	if p.base == (Delay{}) || p.conn.isDead() {
		p.pass(b)
		return
	}
	due := clock.Mono() + int64(p.base.Base)
	if p.base.Jitter > 0 {
		due += p.draw.Int64N(int64(p.base.Jitter))
	}
	p.delayed = append(p.delayed, delayed{slices.Clone(b), due})
	if len(p.delayed) == 1 {
		p.conn.link.host.courier.add(p, due)
	}
}

// deliver passes on, in order, what has waited for the base delay. What drew less than
// the piece before it leaves together with that one. The courier calls it.
func (p *pipe) deliver(by int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for n < len(p.delayed) && p.delayed[n].due <= by {
		p.pass(p.delayed[n].bytes)
		n++
	}
	p.delayed = slices.Delete(p.delayed, 0, n)
	if len(p.delayed) > 0 {
		p.conn.link.host.courier.add(p, p.delayed[0].due)
	}
}

// pass hands b to the toxics, or to the socket where there are none and nothing is left
// in them. The caller holds mu.
func (p *pipe) pass(b []byte) {
	if p.conn.isDead() || p.toxics == 0 && p.inToxics == 0 {
		p.leave(b)
		return
	}
	p.inToxics += int64(len(b))
	p.feed = append(p.feed, slices.Clone(b))
	if !p.feeding {
		p.feeding = true
		go p.feeder()
	}
}

// feeder hands on what is for the toxics, and ends when it is through. A toxic takes
// what comes, but the first of them has to wake up for it.
func (p *pipe) feeder() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.feed) > 0 {
		batch := p.feed
		p.feed = nil
		p.mu.Unlock()
		for _, b := range batch {
			_, _ = p.input.Write(b) // into a channel: it cannot fail
		}
		p.mu.Lock()
	}
	p.feeding = false
}

// divert counts toxics that come or go. What is read from now on runs through them.
func (p *pipe) divert(by int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toxics += by
}

// die throws away what has not come to the toxics, when the connection was reset.
func (p *pipe) die() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.delayed {
		p.underWay -= int64(len(d.bytes))
	}
	p.delayed = nil
	p.moved.Broadcast()
}

// swallowed is told by a drop what it took.
func (p *pipe) swallowed(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = true
	p.inToxics -= int64(bytes)
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

// sink is the writing end of the toxics. toxiproxy copies the last one's output into it.
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

// Write does not block and does not fail.
func (s sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inToxics -= int64(len(b))
	s.leave(b)
	return len(b), nil
}

// leave hands the bytes to the socket, or keeps those that it does not take. Bytes for
// a dead connection are thrown away. The caller holds mu.
func (p *pipe) leave(b []byte) {
	dead := p.conn.isDead()
	written := 0
	if !dead {
		p.passed(int64(len(b)))
		p.conn.link.carried.add(p.way, int64(len(b)))
		if !p.pumping {
			written, _ = p.out.TryWrite(b) // the write of the rest meets the same error
		}
	}
	if dead || written == len(b) {
		p.underWay -= int64(len(b))
		p.moved.Broadcast()
		return
	}
	p.underWay -= int64(written)
	p.pending = append(p.pending, b[written:]...)
	if !p.pumping {
		p.pumping = true
		go p.pump()
	}
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
