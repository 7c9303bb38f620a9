package link

import (
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/internal/seed"
	"locklab/internal/signals"
	"locklab/locks/clock"
)

// conn is one connection of a link, from the moment at which a program dials.
type conn struct {
	link     *link
	seed     seed.Seed
	client   *net.TCPConn
	server   atomic.Pointer[net.TCPConn] // nil until the node accepts
	up, down *chain
	carried  bool // the node accepted, so toxics hit it; guarded by the link's mu

	once sync.Once
	died chan struct{} // closed when the connection was cut
}

func newConn(l *link, s seed.Seed, client *net.TCPConn) *conn {
	c := &conn{link: l, seed: s, client: client, died: make(chan struct{})}
	c.up, c.down = newChain(c, Up), newChain(c, Down)
	c.up.from, c.down.to = client, client
	c.up.back, c.down.back = c.down, c.up
	return c
}

// Names of toxics of no impairment: early holds the bytes that a program sends before the node accepts.
const (
	early = "early"
	base  = "base"
)

// run carries the connection from its beginning to its end.
func (c *conn) run() {
	c.up.put(early, new(Hold), 1)
	var wg sync.WaitGroup
	wg.Go(c.up.read)
	if c.connect() {
		wg.Go(c.up.write)
		wg.Go(c.down.read)
		wg.Go(c.down.write)
	} else {
		c.die(reset)
	}
	wg.Wait() // both ends were passed on, or it is dead
	c.die(func(tcp *net.TCPConn) { _ = tcp.Close() })
	c.link.forget(c)
}

// connect dials the node once nothing blocks the link. If the program has given up by then, the node must not hear
// of it. The handshake takes a round trip.
func (c *conn) connect() bool {
	l := c.link
	for open, changed := l.open(); !open; open, changed = l.open() {
		select {
		case <-changed:
		case <-c.up.ended:
			return false
		}
	}
	if !l.host.timer.sleep(l.delay(Up)+l.delay(Down), c.died) {
		return false
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	upstream, err := dialer.DialContext(l.ctx, "tcp", l.spec.Upstream)
	if err != nil {
		l.host.config.Log.Debug("node refused the link", "link", l.spec.Name, "error", err)
		return false
	}
	server := upstream.(*net.TCPConn)
	c.server.Store(server)
	if c.isDead() || !l.carry(c) {
		reset(server)
		return false
	}
	c.up.to, c.down.from = server, server
	return true
}

// begin puts the base delays and the impairments in force on the connection. The caller holds the link's mu, as
// for put, remove and clear.
func (c *conn) begin(active []Impairment) {
	c.carried = true
	for _, p := range []*chain{c.up, c.down} {
		if l := c.link.spec.base(p.way); l != (Latency{}) {
			p.put(base, &l, 1)
		}
	}
	for _, i := range active {
		c.put(i)
	}
	c.up.takeOff(early)
}

func (c *conn) each(d Direction, f func(*chain)) {
	for _, p := range []*chain{c.up, c.down} {
		if c.carried && d.has(p.way) {
			f(p)
		}
	}
}

// put puts an impairment on the connection, or changes its settings.
func (c *conn) put(i Impairment) {
	c.each(i.Direction, func(p *chain) { p.put("impairment "+i.ID, runs(i.Effect), i.share()) })
}

// clear stops all toxics of a connection that is over.
func (c *conn) clear() {
	for _, p := range []*chain{c.up, c.down} {
		for _, s := range p.stages {
			s.stop(func() {})
		}
	}
}

// remove takes an impairment off.
func (c *conn) remove(i Impairment) {
	c.each(i.Direction, func(p *chain) { p.takeOff("impairment " + i.ID) })
}

// die ends both sides at once. Bytes under way are lost.
func (c *conn) die(how func(*net.TCPConn)) {
	c.once.Do(func() {
		close(c.died)
		how(c.client)
		if server := c.server.Load(); server != nil {
			how(server)
		}
		c.up.wake()
		c.down.wake()
	})
}

func (c *conn) isDead() bool {
	return signals.Closed(c.died)
}

// reset closes the connection such that the peer gets a RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // without it the peer would get a FIN
	_ = c.Close()
}

const (
	// chunkSize is how many bytes are read at once.
	chunkSize = 16 << 10
	// maxUnderWay bounds the bytes of one direction between the two sockets: held, delayed,
	// lost, or not yet taken by the receiver.
	maxUnderWay = 1 << 20
)

// chain is one direction of a connection: bytes are read from one socket, pass the toxics, and are written to the
// other.
//
//	socket ──▶ read ──▶ stage ──▶ stage ──▶ write ──▶ socket
//
// Stages and the writer never refuse a chunk, so stages can change at any time; the reader stops at maxUnderWay.
// toxiproxy's own ToxicLink is not used: its changes wait for a receiver that does not read, and it panics or
// hangs once a toxic has ended its stream.
type chain struct {
	conn     *conn
	way      Direction
	back     *chain // the other direction
	from, to *net.TCPConn
	ended    chan struct{} // closed when nothing more is read

	mu       sync.Mutex
	moved    *sync.Cond // something that reader or writer wait for changed
	underWay int        // bytes read and not written
	stages   []*stage
	out      []byte // for the writer
	over     bool   // the end has reached the writer
	end      ending
}

// ending says what happens to the connection after the end of a stream.
type ending int

const (
	endsStream ending = iota // the other direction goes on
	closesConn               // a toxic ended it
	resetsConn
)

func newChain(c *conn, way Direction) *chain {
	p := &chain{conn: c, way: way, ended: make(chan struct{})}
	p.moved = sync.NewCond(&p.mu)
	return p
}

// read reads until the stream has ended.
func (p *chain) read() {
	defer close(p.ended)
	p.mu.Lock()
	defer p.mu.Unlock()
	for buf := make([]byte, chunkSize); ; {
		for p.underWay >= maxUnderWay && !p.conn.isDead() {
			p.moved.Wait()
		}
		p.mu.Unlock()
		n, err := p.from.Read(buf)
		p.mu.Lock()
		if n > 0 {
			p.underWay += n
			p.into(0, &stream.StreamChunk{Data: slices.Clone(buf[:n]), Timestamp: clock.System().Now()})
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.end = resetsConn
			}
			p.into(0, nil)
			return
		}
	}
}

// into hands a chunk, or the end (nil), to the n-th stage, or to the writer behind the last. The caller holds mu.
func (p *chain) into(n int, chunk *stream.StreamChunk) {
	switch {
	case n < len(p.stages):
		p.stages[n].take(chunk)
	case p.over: // nothing comes behind the end
	case chunk == nil:
		p.over = true
		p.moved.Broadcast()
	default:
		p.conn.link.passed(p.way, chunk)
		p.out = append(p.out, chunk.Data...)
		p.moved.Broadcast()
	}
}

// write writes until the end, and passes that on. After an error it discards bytes.
func (p *chain) write() {
	p.mu.Lock()
	for {
		for len(p.out) == 0 && !p.over && !p.conn.isDead() {
			p.moved.Wait()
		}
		if len(p.out) == 0 || p.conn.isDead() {
			break
		}
		batch := p.out
		p.out = nil
		p.mu.Unlock()
		if _, err := p.to.Write(batch); err != nil {
			p.back.broken()
		}
		p.mu.Lock()
		p.underWay -= len(batch)
		if p.out == nil && cap(batch) <= chunkSize {
			p.out = batch[:0]
		}
		p.moved.Broadcast()
	}
	end := p.end
	p.mu.Unlock()
	switch end {
	case endsStream:
		_ = p.to.CloseWrite() // fails if the peer is gone, which the other direction notices
	case closesConn:
		p.conn.die(func(c *net.TCPConn) { _ = c.Close() })
	case resetsConn:
		p.conn.die(reset)
	}
}

// broken makes this direction end with a reset, after its bytes, because its sender no longer reads.
func (p *chain) broken() {
	p.mu.Lock()
	p.end = resetsConn
	over := p.over
	p.mu.Unlock()
	if over {
		p.conn.die(reset)
	}
}

// wake makes reader and writer see that the connection is dead.
func (p *chain) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved.Broadcast()
}

// stage runs one toxic. Its queue has no bound of its own.
//
//	queue ──▶ run ──▶ toxic ──▶ run ──▶ the next stage's queue, or the writer
type stage struct {
	chain   *chain
	id      string
	toxic   toxics.Toxic
	foreign bool    // toxiproxy's own, which reads the time stamps of chunks
	share   float32 // of connections that it hits
	stub    *toxics.ToxicStub
	in, out chan *stream.StreamChunk
	more    chan struct{}
	stopped chan struct{} // closed when the toxic was stopped
	done    chan struct{} // closed when run has returned

	// Guarded by the chain's mu:
	queue  []*stream.StreamChunk
	sealed bool // the end is or was in the queue
	fed    bool // the toxic was given the end
	closed bool // the end was passed on
	hole   bool // bytes are lost
}

// put adds a toxic as the last one, or changes the settings of the one that is there.
func (p *chain) put(id string, t toxics.Toxic, share float32) {
	s := p.stage(id)
	if s == nil {
		s = &stage{chain: p, id: id, foreign: foreign(t), more: make(chan struct{}, 1)}
		s.in, s.out = make(chan *stream.StreamChunk), make(chan *stream.StreamChunk)
		s.stub = toxics.NewToxicStub(s.in, s.out)
		s.stub.State = stateOf(t, p.conn.seed.Child(id+"/"+string(p.way)), p.conn.link.host.timer)
		p.mu.Lock()
		p.stages = append(p.stages, s)
		p.mu.Unlock()
	} else {
		s.stop(func() {})
		if s.stub.Closed() {
			return
		}
	}
	s.toxic, s.share = t, share
	s.start()
}

// takeOff removes a toxic. The bytes in it, and those queued for it, go on in order. If bytes were lost in it, the
// connection is reset.
func (p *chain) takeOff(id string) {
	s := p.stage(id)
	if s == nil {
		return
	}
	s.stop(func() {
		if t, cleans := s.toxic.(toxics.CleanupToxic); cleans {
			t.Cleanup(s.stub)
		}
	})
	p.mu.Lock()
	n := slices.Index(p.stages, s)
	if s.fed && !s.closed {
		p.into(n+1, nil)
	}
	p.stages = slices.Delete(p.stages, n, n+1)
	for _, chunk := range s.queue {
		p.into(n, chunk)
	}
	p.mu.Unlock()
	if s.hole {
		p.conn.die(reset)
	}
}

// stage finds a stage by its id; nil if there is none.
func (p *chain) stage(id string) *stage {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := slices.IndexFunc(p.stages, func(s *stage) bool { return s.id == id }); n >= 0 {
		return p.stages[n]
	}
	return nil
}

// take queues a chunk, or the end, unless the end was queued before. The caller holds the chain's mu.
func (s *stage) take(chunk *stream.StreamChunk) {
	if !s.sealed && !s.closed {
		s.sealed = chunk == nil
		if s.foreign && !s.sealed {
			chunk.Timestamp = clock.System().Now()
		}
		s.queue = append(s.queue, chunk)
		signals.Wake(s.more)
	}
}

func (s *stage) start() {
	s.stopped, s.done = make(chan struct{}), make(chan struct{})
	go s.stub.Run(&toxics.ToxicWrapper{Toxic: s.toxic, Toxicity: s.share})
	go s.run()
}

// run feeds the toxic and passes its output on, until the toxic ends or was stopped.
func (s *stage) run() {
	defer close(s.done)
	for {
		head, in := s.head()
		select {
		case in <- head:
			s.pop()
		case chunk := <-s.out: // nil when it is closed
			s.pass(chunk)
			if chunk == nil {
				return
			}
		case <-s.more:
		case <-s.stopped:
			if s.stub.Closed() {
				s.pass(nil)
			}
			return
		}
	}
}

// stop interrupts the toxic, calls clean, and passes on all that the toxic puts out meanwhile.
// Later chunks wait in the queue.
func (s *stage) stop(clean func()) {
	if signals.Closed(s.stopped) {
		return
	}
	if s.stub.InterruptToxic() {
		clean()
	}
	close(s.stopped)
	<-s.done
}

// head returns the oldest chunk and the toxic's input; nil if there is none. The end is given to the toxic by
// closing its input.
func (s *stage) head() (*stream.StreamChunk, chan<- *stream.StreamChunk) {
	s.chain.mu.Lock()
	defer s.chain.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, nil
	}
	if s.queue[0] == nil {
		s.queue, s.fed = nil, true
		close(s.in)
		return nil, nil
	}
	return s.queue[0], s.in
}

func (s *stage) pop() {
	s.chain.mu.Lock()
	defer s.chain.mu.Unlock()
	s.queue = s.queue[1:]
	if _, drops := s.toxic.(*Drop); drops {
		s.hole = true
	}
}

// pass hands a chunk, or the end, on. A toxic that ends the stream by itself ends the connection, after its bytes.
func (s *stage) pass(chunk *stream.StreamChunk) {
	p := s.chain
	p.mu.Lock()
	defer p.mu.Unlock()
	if chunk == nil {
		if s.closed {
			return
		}
		s.closed, s.queue = true, nil
		if _, resets := s.stub.State.(wasReset); resets {
			p.end = resetsConn
		} else if !s.fed {
			p.end = max(p.end, closesConn)
		}
	}
	p.into(slices.Index(p.stages, s)+1, chunk)
}
