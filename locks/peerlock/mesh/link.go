package mesh

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/nowait"
)

// Why a link ended, besides errors of the network.
var (
	// ErrSilent says that nothing was heard for too long.
	ErrSilent = errors.New("mesh: peer is silent")
	// ErrSlow says that the peer did not read what was sent, nothing of it for long.
	ErrSlow = errors.New("mesh: peer does not read")
	// ErrReplaced says that the peer has made a newer connection.
	ErrReplaced = errors.New("mesh: connection replaced")
	// ErrClosed says that this mesh was closed.
	ErrClosed = errors.New("mesh: closed")
)

// Link is one connection to one peer, from Connected to Disconnected.
type Link struct {
	mesh *Mesh
	peer *peer
	conn net.Conn
	now  *nowait.Conn // the same, for whoever does not want to wait

	attempt uint64 // of the hello, to tell which of two connections is newer
	from    uint64 // incarnation of the peer

	heardAt atomic.Int64  // on the mesh's running clock
	dirty   atomic.Bool   // something is queued and nobody writes
	ended   chan struct{} // closed when the link has failed

	mu      sync.Mutex
	out     []byte // queued, not yet handed to anybody
	frames  int    // in out
	spare   []byte // the other of two buffers that take turns
	left    []byte // what the socket did not take, for the writer
	writing bool   // somebody is between taking out and having written it
	spaced  bool   // out holds more than heartbeats
	spoke   bool   // something was written since the last tick
	quiet   int    // ticks since something was
	cause   error  // why the link ended; nil while it lives
	kick    chan struct{}

	full    bool          // more waits to be sent than Limits.Queue
	movedAt time.Duration // on the running clock: while full, when the socket last took something

	taken   atomic.Int64 // bytes that the reader took from the socket
	waited  int          // bytes that waited there at the last look; for Mesh.beat alone
	arrived int64        // bytes that had arrived by then, taken or not; likewise
}

func newLink(m *Mesh, p *peer, conn net.Conn, h hello) *Link {
	l := &Link{
		mesh: m, peer: p, conn: conn, now: nowait.New(conn), attempt: h.Attempt, from: h.Incarnation,
		ended: make(chan struct{}), kick: make(chan struct{}, 1),
	}
	l.heardAt.Store(m.ran.Load())
	// Heartbeats wake nobody: to hear each of every peer's is most of what an idle mesh of
	// many would cost.
	l.now.WakeFor(lowWater)
	return l
}

// Peer is who is at the other end.
func (l *Link) Peer() Peer { return l.peer.Peer }

// Rank is the rank of who is at the other end.
func (l *Link) Rank() int { return l.peer.Rank }

// Send queues one payload, which is copied; it goes out at the next flush. After
// the link has ended it does nothing. A payload must not be empty or longer than
// Limits.Frame.
func (l *Link) Send(payload []byte) {
	if len(payload) == 0 || len(payload) > l.mesh.cfg.Limits.Frame {
		l.fail(fmt.Errorf("send %d bytes, want 1 to %d: %w", len(payload), l.mesh.cfg.Limits.Frame, errFrameTooLarge))
		return
	}
	l.queue(payload)
}

// SendFrames queues payloads that [AppendFrame] has put into b one after the other,
// n of them. It is for callers who collect what they have to say and want to take
// the link's lock only once.
func (l *Link) SendFrames(b []byte, n int) { l.add(b, n) }

func (l *Link) queue(body []byte) {
	var buf [64]byte
	l.add(appendFrame(buf[:0], body), 1)
}

func (l *Link) add(frames []byte, n int) {
	l.mu.Lock()
	if l.cause != nil {
		l.mu.Unlock()
		return
	}
	l.out = append(l.out, frames...)
	l.frames += n
	l.spaced = l.spaced || len(frames) > 1
	l.look()
	if !l.writing && !l.dirty.Load() {
		l.dirty.Store(true)
	}
	l.mu.Unlock()
}

// Flush writes what is queued. It never blocks: what the socket does not take at
// once is left to the link's writer. Whoever writes already takes it along.
func (l *Link) Flush() {
	if !l.dirty.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing {
		return
	}
	for len(l.out) > 0 && l.cause == nil {
		l.writing, l.spoke = true, true
		l.dirty.Store(false)
		l.mesh.crowd.note(l.frames)
		buf := l.takeLocked(l.spare[:0])
		l.spare = nil
		l.mu.Unlock()
		sent, err := l.now.TryWrite(buf)
		l.mu.Lock()
		l.spare = buf[:0]
		if err != nil {
			l.writing = false
			l.endLocked(fmt.Errorf("write: %w", err))
			return
		}
		if sent < len(buf) {
			l.left, l.spare = buf[sent:], nil
			l.moved()
			l.kick <- struct{}{} // has room: only the one who writes kicks
			return
		}
	}
	l.writing = false
	l.dirty.Store(false)
	l.moved()
}

// takeLocked takes what is queued, to write it, and leaves next to queue into. Behind
// payloads go as many heartbeats as it takes for the other end's low water, wherever
// the bytes are cut on their way: a piece that nobody is woken for holds no payload.
func (l *Link) takeLocked(next []byte) []byte {
	buf := l.out
	if l.spaced {
		var heartbeats [lowWater - 1]byte
		buf = append(buf, heartbeats[:]...)
	}
	l.out, l.frames, l.spaced = next, 0, false
	return buf
}

// writer writes, blocking, what a flush could not. It does so in pieces, so that it shows
// whether the peer reads.
func (l *Link) writer() {
	for {
		select {
		case <-l.kick:
		case <-l.ended:
			return
		}
		l.mu.Lock()
		for len(l.left) > 0 && l.cause == nil {
			const piece = 64 << 10
			buf := l.left[:min(len(l.left), piece)]
			l.mu.Unlock()
			_, err := l.conn.Write(buf)
			l.mu.Lock()
			if err != nil {
				l.endLocked(fmt.Errorf("write: %w", err))
				break
			}
			l.spoke = true
			if l.left = l.left[len(buf):]; len(l.left) == 0 {
				l.left = l.takeLocked(nil)
			}
			l.moved()
		}
		l.left, l.writing = nil, false
		l.dirty.Store(len(l.out) > 0)
		l.mu.Unlock()
	}
}

// lookForUnread takes what waits in the socket as heard, though it may be that nobody was
// woken for it, see lowWater, or that this process is slow. If it is not slow, and it is
// always the same that waits, the peer is as silent as if nothing did.
func (l *Link) lookForUnread(now time.Duration) {
	l.waited = l.now.Unread()
	taken := l.taken.Load()
	known := max(l.arrived-taken, 0) // of what waits; the reader has noted itself when it took the rest
	if int64(l.waited) > known {
		l.heardAt.Store(int64(now))
	}
	l.arrived = taken + int64(l.waited)
}

// took notes that the reader has read so many bytes.
func (l *Link) took(n int) {
	l.heardAt.Store(l.mesh.ran.Load())
	l.taken.Add(int64(n))
}

// silentFor is asked once in a tick. It says whether nothing was written for so long
// that at the next tick it would be more than this many ticks.
func (l *Link) silentFor(ticks int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.spoke {
		l.spoke, l.quiet = false, 0
	}
	if l.quiet++; l.quiet < ticks {
		return false
	}
	l.quiet = 0
	return true
}

// fail ends the link; its reader then delivers Disconnected.
func (l *Link) fail(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(cause)
}

func (l *Link) endLocked(cause error) {
	if l.cause != nil {
		return
	}
	l.cause = cause
	l.out, l.spare, l.spaced = nil, nil, false
	l.look()
	close(l.ended)
	_ = l.conn.Close() // it is being given up; how the close goes changes nothing
}

func (l *Link) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}

// read delivers batches until the connection ends. It returns why.
func (l *Link) read() error {
	limit := l.mesh.cfg.Limits.Frame
	buf := make([]byte, 64<<10)
	start, end := 0, 0 // buf[start:end] is not yet delivered
	for {
		n, err := l.now.Read(buf[end:])
		if n > 0 {
			l.took(n)
			end += n
			batch := Batch{rest: buf[start:end], limit: limit}
			if err := l.deliver(&batch); err != nil {
				return err
			}
			start = end - len(batch.rest)
			buf, start, end = makeRoom(buf, start, end, batch.need)
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
	}
}

// deliver hands the batch to the handler, then sends what that queued anywhere.
func (l *Link) deliver(batch *Batch) error {
	err := l.mesh.cfg.Handler.Receive(l, batch)
	for _, more := batch.Next(); more; _, more = batch.Next() { // what the handler left
	}
	l.mesh.crowd.heard(batch.taken)
	l.mesh.Flush()
	if err == nil {
		err = batch.err
	}
	return err
}

// makeRoom moves the undelivered rest to the front when it does not fit behind
// what was delivered, and grows the buffer for a frame that needs more.
func makeRoom(buf []byte, start, end, need int) ([]byte, int, int) {
	switch {
	case start == end:
		return buf, 0, 0
	case need > len(buf):
		bigger := make([]byte, need+need/4)
		return bigger, 0, copy(bigger, buf[start:end])
	case end-start < start || start+need > len(buf) || end == len(buf):
		return buf, 0, copy(buf, buf[start:end])
	default:
		return buf, start, end
	}
}
