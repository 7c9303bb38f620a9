package peerlock

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"sync"

	"locklab/locks/clock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

const (
	shardCount = 16  // a power of two
	lateCount  = 256 // resources that nobody wants are kept by each shard
)

// errTooMany says that Config.Resources is used up.
var errTooMany = errors.New("peerlock: callers of this peer want too many resources at once, see Config.Resources")

// shard holds the resources whose names hash to it. Resources do not know of each
// other, so each shard lives by itself and sees the connections of the mesh come
// and go on its own.
type shard[S, M any, P peercore.Machine[S, M]] struct {
	locker *Locker[S, M, P]

	control   bool // it holds the control state, under no name, and nothing else
	mu        sync.Mutex
	closed    bool
	idle      S // what a resource that nobody wants looks like now
	links     [mesh.MaxRank + 1]*mesh.Link
	resources map[string]*resource[S, M, P] // those that somebody wants, and the late ones
	round     uint64                        // at least that of every forgotten state
	claimed   int                           // resources that callers of this peer want
	limit     int                           // of claimed
	sent      uint64                        // messages
	rand      *rand.Rand                    // of pauses
	deadlines deadlines[S, M, P]            // of timers
	floors    floors                        // tokens of forgotten resources

	// The resources that were wanted last stay a while, because a name that was
	// used is often used again. lateAt is the place of the next one.
	late   [lateCount]*resource[S, M, P]
	lateAt int

	// What is to be sent waits here until somebody flushes, so that a message does
	// not cost a lock of its own at every link; and for the disk, see disk.go.
	generation[S, M, P]
	bit      uint32               // in Locker.marked, set while full is not empty
	fresh    bool                 // some of it waits for what no batch has taken yet
	inflight *generation[S, M, P] // what waits for the batch that is being written; nil: none is
	numbers  uint64               // of holds that nobody was told of

	// To be used again:
	free    []*resource[S, M, P]
	wakes   []chan struct{} // empty
	effects []peercore.Effect[M]
	wire    []byte
	frame   []byte
	spare   *generation[S, M, P] // empty
	blank   S
}

// outbox is what a shard has to say to one peer.
type outbox struct {
	frames []byte
	n      int
}

// resource is what this peer knows of one resource, and its own waiters in order
// of arrival. The state machine works for the first of them. What every message looks at
// lies together.
type resource[S, M any, P peercore.Machine[S, M]] struct {
	name        string
	times       *times[S, M, P] // nil if it never had a timer
	first, last *claim[S, M, P]
	late        bool // it is in shard.late
	held        bool // by the first
	state       S
	untold      uint64      // it could be held, but the first was not told yet; 0 otherwise
	token       uint64      // of the algorithm, while held
	cohort      cohort      // who was served by the acquisition that holds now
	pause       clock.Timer // of the state machine; nil if it never asked for one
	pauses      uint64      // numbers the pauses, so that one that was replaced does nothing
}

// newWake gives c a channel to wait on.
func (s *shard[S, M, P]) newWake(c *claim[S, M, P]) {
	if n := len(s.wakes); n > 0 {
		c.wake, s.wakes = s.wakes[n-1], s.wakes[:n-1]
		return
	}
	c.wake = make(chan struct{}, 1)
}

// keepWake takes the channel, which is empty, back from c, whose wait is over.
func (s *shard[S, M, P]) keepWake(c *claim[S, M, P]) {
	const keep = 1024
	if len(s.wakes) < keep {
		s.wakes = append(s.wakes, c.wake)
	}
	c.wake = nil
}

// add makes a resource. There is no bound here: what others want must be kept, or this
// peer would not know of it, and their own peers bound it.
func (s *shard[S, M, P]) add(name string) *resource[S, M, P] {
	var r *resource[S, M, P]
	if n := len(s.free); n > 0 {
		r, s.free = s.free[n-1], s.free[:n-1]
	} else {
		r = &resource[S, M, P]{}
	}
	r.name = name
	P(&r.state).Reset(&s.idle, max(s.round, s.floors.take(name)))
	s.resources[name] = r
	return r
}

// tidy sees to it that r is forgotten some time if nobody wants it any more.
func (s *shard[S, M, P]) tidy(r *resource[S, M, P]) {
	if r.late || r.wanted() {
		return
	}
	r.late = true
	oldest := s.late[s.lateAt]
	s.late[s.lateAt] = r
	s.lateAt = (s.lateAt + 1) % lateCount
	if oldest == nil {
		return
	}
	if oldest.late = false; !oldest.wanted() {
		s.forget(oldest)
	}
}

func (r *resource[S, M, P]) wanted() bool { return r.first != nil || !P(&r.state).Idle() }

func (s *shard[S, M, P]) forget(r *resource[S, M, P]) {
	const keep = 1024
	delete(s.resources, r.name)
	s.remember(r)
	r.stopPause()
	s.stopAll(r)
	r.untold = 0
	if len(s.free) < keep {
		r.name = ""
		s.free = append(s.free, r)
	}
}

// push puts c at the end of the queue, and asks for the lock if it is alone there.
func (s *shard[S, M, P]) push(r *resource[S, M, P], c *claim[S, M, P]) {
	c.res = r
	if r.last != nil {
		r.last.next, c.prev, r.last = c, r.last, c
		return
	}
	r.first, r.last = c, c
	s.claimed++
	s.step(r, peercore.Event[M]{Kind: peercore.Request})
}

// pop takes c out of its queue. If the state machine worked for it, or c held the
// lock, that ends and the next one's turn begins: in a cohort without asking again.
func (s *shard[S, M, P]) pop(c *claim[S, M, P]) {
	r := c.res
	first := r.first == c
	s.unlink(r, c)
	if !first || (r.first != nil && s.passOn(r)) {
		return
	}
	r.held, r.untold = false, 0
	s.step(r, peercore.Event[M]{Kind: peercore.Leave})
	if r.first != nil {
		s.step(r, peercore.Event[M]{Kind: peercore.Request})
	}
	s.tidy(r)
}

// unlink takes c out of the queue.
func (s *shard[S, M, P]) unlink(r *resource[S, M, P], c *claim[S, M, P]) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		r.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		r.last = c.prev
	}
	c.res, c.prev, c.next = nil, nil, nil
	if r.first == nil {
		s.claimed--
	}
}

// step runs the state machine and carries out what it asks for.
func (s *shard[S, M, P]) step(r *resource[S, M, P], ev peercore.Event[M]) {
	s.effects = P(&r.state).Step(ev, s.effects[:0])
	lost, recovered := false, false
	var round uint64
	for i := range s.effects {
		e := &s.effects[i]
		switch e.Kind {
		case peercore.Hold:
			r.token = e.Token
			s.tellHold(r)
		case peercore.Store:
			s.store(r)
		case peercore.Start:
			s.start(r, e.Timer)
		case peercore.Stop:
			s.stop(r, e.Timer)
		case peercore.Lose:
			lost = true
		case peercore.Recovered:
			recovered, round = true, e.Token
		case peercore.Pause:
			s.pause(r, e.Attempt)
		case peercore.Send:
			s.send(r, e)
		}
	}
	// Only now: these run the state machine again.
	if lost {
		s.lose(r)
	}
	if recovered {
		s.locker.recover(round)
	}
}

// send leaves out peers whose connection is lost, though the state machine may not have
// been told yet: a lease that ran out is ended first.
func (s *shard[S, M, P]) send(r *resource[S, M, P], e *peercore.Effect[M]) {
	s.wire = append(s.locker.protocol.Append(s.wire[:0], e.Msg), r.name...)
	s.frame = mesh.AppendFrame(s.frame[:0], s.wire)
	if s.full.Empty() {
		s.locker.marked.Or(s.bit)
	}
	for to := e.To.Low(); to != 0; to &= to - 1 { // the mesh has no greater ranks
		rank := bits.TrailingZeros64(to)
		if s.links[rank] == nil {
			continue
		}
		box := &s.out[rank]
		box.frames = append(box.frames, s.frame...)
		box.n++
		s.sent++
		s.full = s.full.With(rank)
	}
}

// collect hands what the shard has to say to the links.
func (s *shard[S, M, P]) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.quiet() {
		s.sendAll(&s.generation)
	}
}

func (s *shard[S, M, P]) sendAll(g *generation[S, M, P]) {
	for rank := range g.full.All() {
		box := &g.out[rank]
		s.links[rank].SendFrames(box.frames, box.n)
		box.frames, box.n = box.frames[:0], 0
	}
	g.full = peercore.Set{}
}

// receive takes one message that came over link.
func (s *shard[S, M, P]) receive(link *mesh.Link, name []byte, m M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	r := s.resources[string(name)]
	if r == nil {
		if !s.locker.protocol.Opens(m) {
			return
		}
		r = s.add(string(name))
	}
	s.expireLate(r)
	s.step(r, peercore.Event[M]{Kind: peercore.Receive, Peer: link.Rank(), Msg: m, Round: s.used()})
	s.tidy(r)
}

// connection tells all resources that a connection came or went.
func (s *shard[S, M, P]) connection(link *mesh.Link, kind peercore.EventKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	ev := peercore.Event[M]{Kind: kind, Peer: link.Rank(), Round: s.used()}
	s.links[link.Rank()] = nil
	for _, g := range [...]*generation[S, M, P]{&s.generation, s.inflight} {
		if g != nil { // what was meant for the lost connection must not go over another
			g.out[link.Rank()] = outbox{}
			g.full = g.full.Without(link.Rank())
		}
	}
	if kind == peercore.Connect {
		s.links[link.Rank()] = link
	}
	s.effects = P(&s.idle).Step(ev, s.effects[:0]) // has no effects: nobody wants it
	for _, r := range s.resources {                // any order: resources are independent
		s.expireLate(r)
		s.step(r, ev)
		s.tidy(r)
	}
}

// close ends all claims.
func (s *shard[S, M, P]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.resources {
		r.stopPause()
		for c := r.first; c != nil; c = c.next {
			switch {
			case c.phase == waiting:
				c.wake <- struct{}{}
			case c.term != nil:
				close(c.term.lost)
			}
			c.phase = orphaned
		}
	}
	if s.deadlines.alarm != nil {
		s.deadlines.alarm.Stop()
	}
	s.resources = nil
}
