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
//	socket ──▶ base delay ──┬──────────────────────┬──▶ socket
//	           (courier)    └─ stages of toxics ───┘
//
// Writing never blocks and reading stops at maxUnderWay, so that the stages between them
// always move and can be rearranged at any time.
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
	moved    *sync.Cond // underWay, stages, over or the connection's death changed
	underWay int64      // bytes read and neither written, swallowed nor thrown away
	delayed  []delayed  // for the base delay
	stages   []*stage   // toxics; where there is none, bytes go to the socket at once
	over     bool       // the end came through
	cut      cut        // how a toxic made that end
	pending  []byte     // due, but not yet taken by the socket
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

// run reads until the stream has ended, and returns when the end was passed on.
func (p *pipe) run() {
	defer p.conn.ended()
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
		}
		if err != nil {
			p.finish(err)
			return
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

// pass hands b to the toxics, or to the socket where there are none. The caller holds mu.
func (p *pipe) pass(b []byte) {
	if p.conn.isDead() || len(p.stages) == 0 && !p.over {
		p.leave(b)
		return
	}
	p.into(0, newChunk(b))
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

func (p *pipe) awaitRoom() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.underWay >= maxUnderWay && !p.conn.isDead() {
		p.moved.Wait()
	}
}

// finish sends the end of the stream behind its bytes, and waits until it has arrived.
func (p *pipe) finish(err error) {
	p.conn.link.sleep(p.conn.link.delay(p.way, p.conn.seed), p.conn.died)
	p.mu.Lock()
	for !p.conn.isDead() && !p.over && (p.underWay > 0 || p.blocked()) {
		p.moved.Wait()
	}
	p.into(0, nil)
	for !p.conn.isDead() && !p.over {
		p.moved.Wait()
	}
	cut := p.cut
	p.mu.Unlock()
	switch {
	case p.conn.isDead() || cut != cutNot: // it ends, or has ended, otherwise
	case errors.Is(err, io.EOF):
		_ = p.to.CloseWrite() // fails if the peer is gone, which the other direction notices
	default:
		p.conn.kill()
	}
}

// blocked says whether a hold or drop is in force. The caller holds mu.
func (p *pipe) blocked() bool {
	return slices.ContainsFunc(p.stages, func(s *stage) bool { return s.blocks })
}

func (p *pipe) isBlocked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blocked()
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
	p.moved.Broadcast()
}
