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

// peer is the lock of one process and its clients.
type peer[S any] struct {
	state        S
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

// simulator has cores and their clients run in the processes of a world. A run is
// single-threaded; everything is in slices that survive it.
type simulator[S, M any, P Core[S, M]] struct {
	world[M]
	alg   peercore.Algorithm[S, M]
	shell Shell

	peers    []peer[S]
	load     *rand.Rand
	effects  []peercore.Effect[M]
	claims   []claim
	spare    []int32 // claims
	draining bool
	stopped  bool // at the first violation
	over     bool
	hoped    uint64 // grants when the last wait for another one began
	checks   checks
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
	s.draining, s.stopped, s.over = false, false, false
	s.claims, s.spare = s.claims[:0], s.spare[:0]
	s.load = cfg.Seed.Child("load").Rand()
	s.checks.reset(cfg.Peers)
	s.setPeers(cfg)
	s.begin(cfg, s)
	for !s.stopped && !s.over && s.next() {
	}
	s.finish()
	return s.res, nil
}

func (s *simulator[S, M, P]) setPeers(cfg Config) {
	if cap(s.peers) < cfg.Peers {
		s.peers = make([]peer[S], cfg.Peers)
	}
	s.peers = s.peers[:cfg.Peers]
	for i := range s.peers {
		p := &s.peers[i]
		*p = peer[S]{claims: p.claims[:0], asksLeft: -1}
		if i < len(cfg.Load.Ops) {
			p.asksLeft = cfg.Load.Ops[i]
		}
	}
}

// boot makes the core of a process, by what is stored if it is started again.
func (s *simulator[S, M, P]) boot(i int, again bool) {
	p := &s.peers[i]
	fresh := s.alg.New(i, peercore.Others(s.n, i), again && !peercore.Stores[S, M, P](&p.state))
	if again && peercore.Stores[S, M, P](&p.state) {
		peercore.Restart[S, M, P](&s.alg, &p.state, &fresh)
	}
	p.state = fresh
	if core, timed := any(P(&p.state)).(peercore.Timed); timed {
		for _, t := range [...]peercore.Timer{peercore.Vote, peercore.Recovery} {
			if core.Running(t) {
				s.startTimer(i, t)
			}
		}
	}
	s.startClients(i)
}

func (s *simulator[S, M, P]) connected(i, from int) {
	s.step(i, peercore.Event[M]{Kind: peercore.Connect, Peer: from})
}

func (s *simulator[S, M, P]) lost(i, from int) {
	s.step(i, peercore.Event[M]{Kind: peercore.Disconnect, Peer: from})
}

func (s *simulator[S, M, P]) heard(i, from int, msg M) {
	if s.peers[i].timers[peercore.Lease].running {
		s.expireLate(i)
	}
	if s.trace != nil {
		s.trace.received(s.now, i, from, msg)
	}
	s.res.Delivered++
	s.step(i, peercore.Event[M]{Kind: peercore.Receive, Peer: from, Msg: msg})
}

// ends is told that nobody asks any more, and then that the run is over, unless somebody
// waits whose turn may still come: behind a client that holds, or because others were served
// meanwhile.
func (s *simulator[S, M, P]) ends(what op) {
	c := &s.checks
	switch {
	case what == opDrain:
		s.draining, s.hoped = true, c.grants
	case c.waiting > 0 && (len(c.holders) > 0 || c.grants != s.hoped):
		s.hoped = c.grants
		s.push(s.now+int64(s.cfg.Patience), slot[M]{op: opStop})
	default:
		s.over = true
	}
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
		if d := &s.peers[i].timers[sl.arg]; d.running && d.stamp == sl.gen {
			s.expire(i, peercore.Timer(sl.arg))
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
	s.effects = peercore.Run[S, M, P](&s.alg, &p.state, ev, s.effects[:0])
	p.client = p.client.Does(ev.Kind)
	lost := false
	for k := range s.effects {
		switch e := &s.effects[k]; e.Kind {
		case peercore.Send:
			if s.trace != nil {
				s.trace.sent(s.now, i, e.To, e.Msg)
			}
			for to := range e.To.All() {
				s.send(i, to, &e.Msg)
			}
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
			s.startTimer(i, e.Timer)
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
