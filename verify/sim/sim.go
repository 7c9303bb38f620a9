package sim

import (
	"math/rand/v2"
	"time"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// Simulator runs one lock. It is safe for concurrent use.
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
	peers.Peer[S]
	timers       [peercore.Timers]deadline
	asked        int64 // the last Start of Renew
	pauses       uint32
	claims       []claim // its queue, the first is worked for
	asksLeft     int     // -1: no bound
	untold       bool    // its client believes something else than the core
	lost         bool    // in this step
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

// simulator has cores and their clients run in the processes of a world: one run, which is
// single-threaded.
type simulator[S, M any, P peers.Core[S, M]] struct {
	world[M]
	all   peers.Peers[S, M, P]
	shell Shell

	peers    []peer[S]
	load     *rand.Rand
	claims   int32 // how many there were
	draining bool
	stopped  bool // at the first violation
	over     bool
	hoped    uint64 // grants when the last wait for another one began
	checks   checks
}

// New makes a simulator of one algorithm.
func New[S, M any, P peers.Core[S, M]](alg peercore.Algorithm[S, M], shell Shell) Simulator {
	return lock[S, M, P]{alg, shell}
}

type lock[S, M any, P peers.Core[S, M]] struct {
	alg   peercore.Algorithm[S, M]
	shell Shell
}

func (l lock[S, M, P]) Run(cfg Config) (Result, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return Result{}, err
	}
	s := &simulator[S, M, P]{
		shell: l.shell, peers: make([]peer[S], cfg.Peers), load: cfg.Seed.Child("load").Rand(), checks: checks{freed: -1},
	}
	s.all = peers.Peers[S, M, P]{Alg: l.alg, N: cfg.Peers, Does: s.does}
	for i := range s.peers {
		s.peers[i].asksLeft = -1
		if i < len(cfg.Load.Ops) {
			s.peers[i].asksLeft = cfg.Load.Ops[i]
		}
	}
	s.begin(cfg, s)
	for !s.stopped && !s.over && s.next() {
	}
	s.finish()
	return s.res, nil
}

func (s *simulator[S, M, P]) boot(i int, again bool) {
	p := &s.peers[i]
	fresh := s.all.Start(i, again && !peercore.Stores[S, M, P](&p.State))
	if again {
		s.all.Restart(&p.Peer, &fresh)
	}
	p.Peer = fresh
	if core, timed := any(P(&p.State)).(peercore.Timed); timed {
		for _, t := range [...]peercore.Timer{peercore.Vote, peercore.Recovery} {
			if core.Running(t) {
				s.startTimer(i, t)
			}
		}
	}
	for range s.cfg.Load.Clients {
		s.think(i)
	}
}

func (s *simulator[S, M, P]) connected(i, from int) {
	s.step(i, peercore.Event[M]{Kind: peercore.Connect, Peer: from})
}

func (s *simulator[S, M, P]) lost(i, from int) {
	s.step(i, peercore.Event[M]{Kind: peercore.Disconnect, Peer: from})
}

func (s *simulator[S, M, P]) heard(i, from int, msg M) {
	s.expireLate(i)
	if s.trace != nil {
		s.trace.received(s.now, i, from, msg)
	}
	s.step(i, peercore.Event[M]{Kind: peercore.Receive, Peer: from, Msg: msg})
}

// ends is told that nobody asks any more, and then that the run is over, unless somebody
// waits whose turn may still come: behind a client that holds, or because others were served
// meanwhile.
func (s *simulator[S, M, P]) ends(what op) {
	c := &s.checks
	switch {
	case what == opDrain:
		s.draining, s.hoped = true, s.res.Grants
	case c.waiting > 0 && (len(c.holders) > 0 || s.res.Grants != s.hoped):
		s.hoped = s.res.Grants
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
		s.giveUp(i, sl.arg)
	case opRelease:
		s.release(i, sl.arg)
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

// step runs the core of a peer, and looks whether its client was told what the core believes.
func (s *simulator[S, M, P]) step(i int, ev peercore.Event[M]) {
	p := &s.peers[i]
	s.all.Step(i, &p.Peer, ev)
	told := s.all.Told(&p.Peer)
	if !told && !p.untold {
		s.violate(Finding{Kind: Untold, A: i, B: i})
	}
	p.untold = !told
	if p.lost { // only now: it runs the core again
		p.lost = false
		s.lose(i)
	}
	if p.early > 0 && P(&p.State).Bootstrapped() {
		s.ready(i)
	}
}

// does carries out what the core of a peer asks for.
func (s *simulator[S, M, P]) does(i int, e *peercore.Effect[M], was peercore.Client) {
	p := &s.peers[i]
	switch e.Kind {
	case peercore.Send:
		if s.trace != nil {
			s.trace.sent(s.now, i, e.To, e.Msg)
		}
		for to := range e.To.All() {
			s.send(i, to, &e.Msg)
		}
	case peercore.Hold:
		if was == peercore.ClientWaits { // or nobody asked it for that
			s.granted(i, e.Token)
		}
	case peercore.Pause:
		s.pause(i, e.Attempt)
	case peercore.Start:
		s.startTimer(i, e.Timer)
	case peercore.Stop:
		p.timers[e.Timer].running = false
	case peercore.Lose:
		p.lost = p.lost || was == peercore.ClientHolds
	default: // there are no control states here; and the state itself remembers what is on disk
	}
}
