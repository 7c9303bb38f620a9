package sim

import (
	"math/rand/v2"
	"time"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// Simulator runs one lock. It is used by one goroutine at a time, and keeps its
// memory for the next run.
type Simulator interface {
	// Run simulates. Its errors are about the config and wrap [ErrInvalid].
	Run(cfg Config) (Result, error)
}

// Shell is what the shell around the cores adds, see package peerlock.
type Shell struct {
	Pause  time.Duration // mean of a first pause, for cores that pause
	Cohort peerlock.Cohort
	Lease  peerlock.Lease // for cores that have timers
}

// op is what an event does.
type op uint8

const (
	opDeliver op = iota // a message arrives
	opGreet             // the first byte of a connection arrives: connect
	opBye               // its end arrives
	opSilent            // nothing was heard for too long, unless something was
	opDial              // time to try a connection
	opAsk               // a client asks
	opGiveUp
	opRelease
	opTimer // of the core
	opWake  // of its pause
	opBegin // a fault begins
	opEnd   // it ends
	opDrain // nobody asks any more
	opStop  // the run is over
)

// slot is an event that is queued.
type slot[M any] struct {
	op       op
	timer    peercore.Timer
	from, to int16
	gen      uint32 // of the connection, the claim or the timer
	epoch    uint32 // of the process, for what happens inside
	arg      int32  // claim, or fault
	msg      M
}

// peer is one process: the lock and its clients.
type peer[S any] struct {
	state        S
	zone         int
	alive        bool
	paused       int    // by so many faults
	epoch        uint32 // how often it was started
	drifts       bool   // some fault bends its clock
	inbox        []int32
	inboxSpare   []int32
	timers       [peercore.Timers]deadline
	asked        int64 // the last Start of Renew
	pauses       uint32
	claims       []int32         // its queue, the first is worked for
	asksLeft     int             // -1: no bound
	client       peercore.Client // what was told to whoever the core works for
	untold       bool            // which is something else than what the core believes
	token        uint64
	since        int64 // of the hold
	served       int   // by this acquisition
	waitsSince   int64
	grantsBefore uint64
	waiting      bool // for the core
	early        int  // clients that wait until the peer has met the others
}

type deadline struct {
	running  bool
	from, at int64
	stamp    uint32
}

// simulator is the engine. A run is single-threaded; everything is in slices that
// survive it.
type simulator[S, M any, P Core[S, M]] struct {
	alg   peercore.Algorithm[S, M]
	shell Shell

	cfg      Config
	now      int64
	queue    queue
	slots    []slot[M]
	free     []int32
	peers    []peer[S]
	n        int
	links    []link // by from*n+to
	delays   []int64
	spans    []int64
	zones    int
	network  *rand.Rand
	load     *rand.Rand
	effects  []peercore.Effect[M]
	claims   []claim
	spare    []int32 // claims
	draining bool
	stopped  bool // at the first violation
	over     bool
	hoped    uint64 // grants when the last wait for another one began
	checks   checks
	trace    *tracer
	res      Result
}

// Core is what a simulation needs of a core: what a shell does, and its own word on
// whether it waits or holds, to be compared with what its client was told.
type Core[S, M any] interface {
	peercore.Machine[S, M]
	Waits() bool
	Holds() bool
}

// New makes a simulator of one algorithm.
func New[S, M any, P Core[S, M]](alg peercore.Algorithm[S, M], shell Shell) Simulator {
	return &simulator[S, M, P]{alg: alg, shell: shell}
}

func (s *simulator[S, M, P]) Run(cfg Config) (Result, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return Result{}, err
	}
	s.reset(cfg)
	for len(s.queue.items) > 0 && !s.stopped && !s.over {
		it := s.queue.pop()
		s.now = it.at
		s.res.Events++
		if s.res.Events > cfg.MaxEvents {
			s.res.Truncated = true
			break
		}
		s.handle(it.slot)
	}
	s.finish()
	return s.res, nil
}

// reset prepares a run.
func (s *simulator[S, M, P]) reset(cfg Config) {
	s.cfg, s.now, s.draining, s.stopped, s.over = cfg, 0, false, false, false
	s.queue.reset()
	s.slots, s.free = s.slots[:0], s.free[:0]
	s.claims, s.spare = s.claims[:0], s.spare[:0]
	s.network = cfg.Seed.Child("network").Rand()
	s.load = cfg.Seed.Child("load").Rand()
	s.trace = nil
	if cfg.Trace != nil {
		s.trace = &tracer{out: cfg.Trace}
	}
	s.checks.reset(cfg.Peers)
	s.res = Result{Peers: cfg.Peers, Seed: uint64(cfg.Seed)}
	s.setPaths()
	s.setPeers()
	s.setLinks()
	for i, f := range cfg.Faults {
		if until := min(f.Until, cfg.Duration); f.From < until {
			s.push(int64(f.From), slot[M]{op: opBegin, arg: int32(i)})
			s.push(int64(until), slot[M]{op: opEnd, arg: int32(i)})
		}
	}
	s.push(int64(cfg.Duration), slot[M]{op: opDrain})
	s.push(int64(cfg.Duration+cfg.Patience), slot[M]{op: opStop})
}

// setPaths makes the tables of delays and of how much they vary.
func (s *simulator[S, M, P]) setPaths() {
	z := s.cfg.Zones
	s.zones, s.delays, s.spans = z, s.delays[:0], s.spans[:0]
	for a := range z {
		for b := range z {
			d := int64(s.cfg.Network.Delay[a][b])
			s.delays = append(s.delays, d)
			s.spans = append(s.spans, min(int64(float64(d)*s.cfg.Network.Jitter)+1, 1<<31))
		}
	}
}

func (s *simulator[S, M, P]) setPeers() {
	n := s.cfg.Peers
	s.n = n
	if cap(s.peers) < n {
		s.peers = make([]peer[S], n)
	}
	s.peers = s.peers[:n]
	for i := range s.peers {
		p := &s.peers[i]
		*p = peer[S]{inbox: p.inbox[:0], inboxSpare: p.inboxSpare[:0], claims: p.claims[:0]}
		p.zone = i % s.zones
		p.asksLeft = -1
		if i < len(s.cfg.Load.Ops) {
			p.asksLeft = s.cfg.Load.Ops[i]
		}
		s.boot(i, false)
	}
	for _, f := range s.cfg.Faults {
		if f.Kind == Drift {
			for _, r := range f.A {
				s.peers[r].drifts = true
			}
		}
	}
}

// boot starts a process.
func (s *simulator[S, M, P]) boot(i int, amnesic bool) {
	p := &s.peers[i]
	p.alive = true
	p.epoch++
	if amnesic && s.stores(i) {
		any(P(&p.state)).(peercore.Durable).Restart()
	} else {
		p.state = s.alg.New(i, peercore.Others(s.n, i), amnesic)
	}
	if core, timed := any(P(&p.state)).(peercore.Timed); timed {
		for _, t := range [...]peercore.Timer{peercore.Vote, peercore.Recovery} {
			if core.Running(t) {
				s.start(i, t)
			}
		}
	}
	s.startClients(i)
}

// stores says that the core of the peer keeps on disk what must outlive a crash.
func (s *simulator[S, M, P]) stores(i int) bool {
	d, ok := any(P(&s.peers[i].state)).(peercore.Durable)
	return ok && d.Stores()
}

// push queues an event.
func (s *simulator[S, M, P]) push(at int64, sl slot[M]) {
	var i int32
	if k := len(s.free); k > 0 {
		i = s.free[k-1]
		s.free = s.free[:k-1]
		s.slots[i] = sl
	} else {
		i = int32(len(s.slots))
		s.slots = append(s.slots, sl)
	}
	s.queue.push(at, i)
}

// handle lets one event happen, or puts it off if its process is stopped.
func (s *simulator[S, M, P]) handle(i int32) {
	sl := &s.slots[i]
	if sl.op < opBegin && sl.op != opDial {
		p := &s.peers[sl.to]
		if p.paused > 0 && p.alive {
			p.inbox = append(p.inbox, i)
			return
		}
	}
	s.happen(i)
}

func (s *simulator[S, M, P]) happen(i int32) {
	if s.slots[i].op == opDeliver { // by far the most frequent; its message is not copied twice
		s.deliver(i)
		return
	}
	sl := s.slots[i]
	s.free = append(s.free, i)
	switch sl.op {
	case opGreet:
		s.greeted(int(sl.to), int(sl.from), sl.gen)
	case opBye:
		s.bye(int(sl.to), int(sl.from), sl.gen)
	case opSilent:
		s.silence(int(sl.to), int(sl.from), sl.gen)
	case opDial:
		s.dial(int(sl.to), int(sl.from))
	case opBegin:
		s.begin(int(sl.arg))
	case opEnd:
		s.end(int(sl.arg))
	case opDrain:
		s.draining, s.hoped = true, s.checks.grants
	case opStop:
		s.stop()
	default: // of one life of a process
		if sl.epoch == s.peers[sl.to].epoch && s.peers[sl.to].alive {
			s.inside(int(sl.to), &sl)
		}
	}
}

// stop ends the run, unless somebody waits whose turn may still come: behind a client
// that holds, or because others were served meanwhile.
func (s *simulator[S, M, P]) stop() {
	c := &s.checks
	if c.waiting > 0 && (len(c.holders) > 0 || c.grants != s.hoped) {
		s.hoped = c.grants
		s.push(s.now+int64(s.cfg.Patience), slot[M]{op: opStop})
		return
	}
	s.over = true
}

// inside is what happens within a process.
func (s *simulator[S, M, P]) inside(i int, sl *slot[M]) {
	switch sl.op {
	case opAsk:
		s.ask(i)
	case opGiveUp:
		s.giveUp(i, sl.arg, sl.gen)
	case opRelease:
		s.release(i, sl.arg, sl.gen)
	case opTimer:
		if d := &s.peers[i].timers[sl.timer]; d.running && d.stamp == sl.gen {
			s.expire(i, sl.timer)
		}
	case opWake:
		if s.peers[i].pauses == sl.gen {
			s.step(i, peercore.Event[M]{Kind: peercore.Wake})
		}
	default: // the others are not of one life of a process
	}
}

// step runs the core of a peer and carries out what it asks for.
func (s *simulator[S, M, P]) step(i int, ev peercore.Event[M]) {
	p := &s.peers[i]
	s.effects = P(&p.state).Step(ev, s.effects[:0])
	p.client = p.client.Does(ev.Kind)
	lost := false
	for k := range s.effects {
		switch e := &s.effects[k]; e.Kind {
		case peercore.Send:
			s.send(i, e)
		case peercore.Hold:
			if p.client.Hears(e.Kind) == peercore.ClientStrange { // nobody asked it for that
				s.violate(Finding{Kind: Untold, A: i, B: i})
				continue
			}
			p.client = p.client.Hears(e.Kind)
			s.granted(i, e.Token)
		case peercore.Pause:
			s.pause(i, e.Attempt)
		case peercore.Start:
			s.start(i, e.Timer)
		case peercore.Stop:
			p.timers[e.Timer].running = false
		case peercore.Lose:
			lost = lost || p.client == peercore.ClientHolds
			p.client = p.client.Hears(e.Kind)
		case peercore.Recovered: // of control states, of which there are none here
		case peercore.Store: // the state itself remembers what is on disk
		}
	}
	s.compare(i)
	if lost { // only now: it runs the core again
		s.lose(i)
	}
	if p.early > 0 && P(&p.state).Bootstrapped() {
		s.ready(i)
	}
}

// compare looks whether the client of a peer was told what the core believes.
func (s *simulator[S, M, P]) compare(i int) {
	p := &s.peers[i]
	told := p.client.Knows(P(&p.state).Waits(), P(&p.state).Holds())
	if !told && !p.untold {
		s.violate(Finding{Kind: Untold, A: i, B: i})
	}
	p.untold = !told
}

// send gives a message to all its receivers' connections.
func (s *simulator[S, M, P]) send(i int, e *peercore.Effect[M]) {
	if s.trace != nil {
		s.trace.sent(s.now, i, e.To, e.Msg)
	}
	for r := range e.To.All() {
		l := &s.links[i*s.n+r]
		if !l.up {
			continue
		}
		s.res.Messages++
		at := s.arrival(i, r, l)
		var k int32
		if f := len(s.free); f > 0 {
			k = s.free[f-1]
			s.free = s.free[:f-1]
		} else {
			k = int32(len(s.slots))
			s.slots = append(s.slots, slot[M]{})
		}
		sl := &s.slots[k]
		sl.op, sl.from, sl.to, sl.gen, sl.msg = opDeliver, int16(i), int16(r), l.gen, e.Msg
		s.queue.push(at, k)
	}
}

// deliver gives a message to the core, if its connection still stands.
func (s *simulator[S, M, P]) deliver(k int32) {
	sl := &s.slots[k]
	i, from, gen := int(sl.to), int(sl.from), sl.gen
	ev := peercore.Event[M]{Kind: peercore.Receive, Peer: from, Msg: sl.msg}
	s.free = append(s.free, k)
	p := &s.peers[i]
	if !p.alive {
		s.refuse(i, from, gen)
		return
	}
	if l := &s.links[i*s.n+from]; !l.up || l.gen != gen {
		return
	}
	if p.timers[peercore.Lease].running {
		s.expireLate(i)
	}
	if s.trace != nil {
		s.trace.received(s.now, i, from, ev.Msg)
	}
	s.res.Delivered++
	s.step(i, ev)
}
