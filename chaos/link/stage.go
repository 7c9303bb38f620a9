package link

import (
	"slices"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"

	"locklab/chaos/toxic"
	"locklab/internal/signals"
	"locklab/locks/clock"
)

// stage runs one toxic on one direction of one connection. toxiproxy's own ToxicLink is not
// used: it panics or waits for ever when a toxic that ended its stream is removed, or when one
// before it is. Here no stage waits for another one:
//
//	queue ──▶ runner ──▶ toxic ──▶ runner ──▶ the next stage's queue, or the socket
//
// A queue has no bound of its own: the pipe stops reading at maxUnderWay. A nil chunk is the
// end of the stream. A toxic that ends the stream before it was given the end ends the
// connection, behind the bytes that it passed on.
type stage struct {
	pipe     *pipe
	id       string
	toxic    toxics.Toxic // of the impairment
	runs     toxics.Toxic // the same, or nothing: a connection may be spared
	blocks   bool         // nothing passes; of the pipe's mu
	swallows bool         // bytes vanish in it
	stub     *toxics.ToxicStub
	in, out  chan *stream.StreamChunk

	// Of the pipe's mu:
	queue  []*stream.StreamChunk
	sealed bool // the end is in the queue, or was
	ended  bool // the toxic was given the end
	closed bool // the end was passed on
	hole   bool // the toxic swallowed bytes

	more   chan struct{}
	halt   chan struct{}
	halted chan struct{}
}

func newStage(p *pipe, i Impairment) *stage {
	s := &stage{pipe: p, id: i.ID, more: make(chan struct{}, 1), in: make(chan *stream.StreamChunk), out: make(chan *stream.StreamChunk)}
	s.stub = toxics.NewToxicStub(s.in, s.out)
	s.set(i)
	s.renew()
	return s
}

// set makes it do what the impairment says.
func (s *stage) set(i Impairment) {
	hit := i.hitsConnection(s.pipe.conn.seed)
	s.toxic = toxic.Runs(i.Effect, s.pipe.conn.seed.Child(i.ID+"/"+string(s.pipe.way)))
	s.runs = s.toxic
	if !hit {
		s.runs = new(toxics.NoopToxic)
	}
	s.blocks, s.swallows = hit && i.blocks(s.pipe.way), toxic.Swallows(s.runs)
}

// renew gives the toxic a state without a past.
func (s *stage) renew() {
	if t, ok := s.toxic.(toxics.StatefulToxic); ok {
		s.stub.State = t.NewState()
	}
}

func (s *stage) start() {
	s.halt, s.halted = make(chan struct{}), make(chan struct{})
	go s.stub.Run(&toxics.ToxicWrapper{Toxic: s.runs, Toxicity: 1})
	go s.run()
}

// run feeds the toxic and passes on what it gives, until it has given the end or is halted.
func (s *stage) run() {
	defer close(s.halted)
	for {
		head, in := s.head()
		select {
		case in <- head:
			s.pop()
		case chunk := <-s.out: // nil when it is closed
			s.pass([]*stream.StreamChunk{chunk})
			if chunk == nil {
				return
			}
		case <-s.more:
		case <-s.halt:
			return
		}
	}
}

// head is the oldest chunk, and where it is to go; nil if there is none.
func (s *stage) head() (*stream.StreamChunk, chan<- *stream.StreamChunk) {
	s.pipe.mu.Lock()
	defer s.pipe.mu.Unlock()
	if len(s.queue) == 0 {
		return nil, nil
	}
	if s.queue[0] == nil { // the end: nothing comes behind it
		s.queue = nil
		s.ended = true
		close(s.in)
		return nil, nil
	}
	return s.queue[0], s.in
}

func (s *stage) pop() {
	s.pipe.mu.Lock()
	defer s.pipe.mu.Unlock()
	if s.swallows {
		s.pipe.swallowed(s.queue[0])
		s.hole = s.hole || len(s.queue[0].Data) > 0
	}
	s.queue = s.queue[1:]
}

// enqueue takes a chunk, or the end. The caller holds the pipe's mu.
func (s *stage) enqueue(chunk *stream.StreamChunk) {
	if s.closed || s.sealed {
		s.pipe.swallowed(chunk)
		return
	}
	s.sealed = chunk == nil
	s.queue = append(s.queue, chunk)
	signals.Wake(s.more)
}

// pass hands chunks to whatever is behind the stage.
func (s *stage) pass(chunks []*stream.StreamChunk) {
	s.pipe.mu.Lock()
	defer s.pipe.mu.Unlock()
	behind := slices.Index(s.pipe.stages, s) + 1
	for _, chunk := range chunks {
		if chunk == nil {
			s.end(behind)
			return
		}
		s.pipe.into(behind, chunk)
	}
}

// end passes the end on, once. The caller holds the pipe's mu.
func (s *stage) end(behind int) {
	if s.closed {
		return
	}
	s.closed = true
	for _, chunk := range s.queue {
		s.pipe.swallowed(chunk)
	}
	s.queue = nil
	if _, resets := s.runs.(*toxic.ResetPeer); resets {
		s.pipe.cut = cutReset
	} else if !s.ended {
		s.pipe.cut = max(s.pipe.cut, cutClose)
	}
	s.pipe.into(behind, nil)
}

// stop ends the runner and the toxic, and returns what the toxic gives up. What comes
// meanwhile waits in the queue.
func (s *stage) stop(clean bool) (kept []*stream.StreamChunk) {
	if s.halt == nil { // it was, and had closed
		return nil
	}
	close(s.halt)
	<-s.halted
	s.halt = nil
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if t, ok := s.toxic.(toxics.CleanupToxic); s.stub.InterruptToxic() && clean && ok {
			t.Cleanup(s.stub)
		}
	}()
	for {
		select {
		case chunk := <-s.out:
			if chunk == nil {
				<-stopped
				return append(kept, nil)
			}
			kept = append(kept, chunk)
		case <-stopped:
			if s.stub.Closed() {
				kept = append(kept, nil)
			}
			return kept
		}
	}
}

// put adds a toxic as the last one, or changes the settings of the one that is there.
func (p *pipe) put(i Impairment) {
	p.mu.Lock()
	s := p.stage(i.ID)
	if s == nil {
		s = newStage(p, i)
		p.stages = append(p.stages, s)
		s.start()
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	kept := s.stop(toxic.Ours(i.Effect))
	s.pass(kept)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.closed {
		return
	}
	s.set(i)
	if toxic.Ours(i.Effect) {
		s.renew()
	}
	s.start()
	p.moved.Broadcast()
}

// takeOff removes a toxic. What it kept, and what waits for it, goes on in order. A
// connection that lost bytes in it is reset: no network delivers a stream with a hole.
func (p *pipe) takeOff(id string) {
	p.mu.Lock()
	s := p.stage(id)
	p.mu.Unlock()
	if s == nil {
		return
	}
	s.pass(s.stop(true))
	p.mu.Lock()
	n := slices.Index(p.stages, s)
	if s.ended {
		s.end(n + 1)
	}
	p.stages = slices.Delete(p.stages, n, n+1)
	for _, chunk := range s.queue {
		p.into(n, chunk)
	}
	hole := s.hole && !s.closed
	p.moved.Broadcast()
	p.mu.Unlock()
	if hole {
		p.conn.kill()
	}
}

// clear throws all toxics away, of a direction that is over.
func (p *pipe) clear() {
	p.mu.Lock()
	all := p.stages
	p.mu.Unlock()
	for _, s := range all {
		s.stop(false)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stages = nil
}

// stage finds the toxic of an impairment. The caller holds mu.
func (p *pipe) stage(id string) *stage {
	if n := slices.IndexFunc(p.stages, func(s *stage) bool { return s.id == id }); n >= 0 {
		return p.stages[n]
	}
	return nil
}

// into hands a chunk, or the end, to the n-th stage, or to the socket behind the last one. The
// caller holds mu.
func (p *pipe) into(n int, chunk *stream.StreamChunk) {
	switch {
	case p.over:
		p.swallowed(chunk)
	case n < len(p.stages):
		p.stages[n].enqueue(chunk)
	case chunk == nil:
		p.over = true
		p.moved.Broadcast()
		if p.cut != cutNot {
			p.conn.running.Add(1)
			go p.sever()
		}
	default:
		p.leave(chunk.Data)
	}
}

// swallowed counts bytes that go nowhere. The caller holds mu.
func (p *pipe) swallowed(chunk *stream.StreamChunk) {
	if chunk != nil {
		p.underWay -= int64(len(chunk.Data))
		p.moved.Broadcast()
	}
}

func newChunk(b []byte) *stream.StreamChunk {
	return &stream.StreamChunk{Data: slices.Clone(b), Timestamp: clock.System().Now()}
}

// cut is how a toxic ended a connection.
type cut int

const (
	cutNot cut = iota
	cutClose
	cutReset
)

// sever ends a connection as a toxic wants it, behind what came through.
func (p *pipe) sever() {
	defer p.conn.ended()
	p.mu.Lock()
	for p.cut == cutClose && p.pumping && !p.conn.isDead() {
		p.moved.Wait()
	}
	how := p.cut
	p.mu.Unlock()
	if how == cutReset {
		p.conn.kill()
	} else {
		p.conn.hangUp()
	}
}
