package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// Simulator runs one lock. It is safe for concurrent use.
type Simulator func(cfg Config) Result

// New makes a simulator of one algorithm.
func New[S, M any, P peers.Core[S, M]](alg peercore.Algorithm[S, M], shell Shell) Simulator {
	return func(cfg Config) Result {
		r := &run[S, M, P]{cfg: cfg.withDefaults(), shell: shell, freed: -1}
		r.all = peers.Peers[S, M, P]{Alg: alg, N: r.cfg.Peers, Does: r.does}
		r.begin()
		for r.next() {
		}
		r.finish()
		return r.res
	}
}

// run is one run, which is single-threaded.
type run[S, M any, P peers.Core[S, M]] struct {
	cfg           Config
	shell         Shell
	all           peers.Peers[S, M, P]
	now           int64 // nanoseconds of virtual time
	queue         queue[M]
	seq           uint64
	peers         []peer[S, M]
	links         []link // by from*n+to
	network, load *rand.Rand
	claims        int32 // how many there were
	draining      bool  // no client asks any more
	over, stopped bool  // stopped: at the first violation
	hoped         uint64
	res           Result

	// What is checked.
	waiting int    // peers
	holders []int  // whose clients believe that they hold
	freed   int64  // when the last hold ended while a peer waited; -1 otherwise
	seen    uint64 // the highest token
	forgot  bool   // a majority had lost its memory at once since seen was set
}

// peer is one process, the lock in it, and its clients.
type peer[S, M any] struct {
	alive  bool
	paused int    // by so many faults
	epoch  uint32 // how often it was started
	inbox  []*event[M]

	peers.Peer[S]
	timers       [peercore.Timers]deadline
	asked        int64 // the last Start of Renew
	pauses       uint32
	claims       []claim // its queue, the first is worked for
	asksLeft     int     // negative: no bound
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

// op is what an event does.
type op uint8

const (
	opDeliver op = iota // a message arrives
	opGreet             // the first byte of a connection arrives: connect
	opBye               // its end arrives
	opSilent            // nothing was heard for too long, unless something was
	opAsk               // a client asks
	opGiveUp
	opRelease
	opTimer // of the core
	opWake  // of its pause
	opDial  // time to try a connection; this and those below happen to stopped processes, too
	opBegin // a fault begins
	opEnd   // it ends
	opDrain // no client asks any more
	opStop  // the run is over
)

// event is something that is to happen.
type event[M any] struct {
	at       int64
	seq      uint64 // orders the events of one time
	op       op
	to, from int
	gen      uint32 // of the connection or the timer
	epoch    uint32 // of the process, for what happens inside
	arg      int32  // claim, timer or fault
	msg      M
}

type queue[M any] []*event[M]

func (q queue[M]) Len() int      { return len(q) }
func (q queue[M]) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue[M]) Push(e any)   { *q = append(*q, e.(*event[M])) }

func (q queue[M]) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}

func (q *queue[M]) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

func (r *run[S, M, P]) push(at int64, e event[M]) {
	r.seq++
	e.at, e.seq = at, r.seq
	heap.Push(&r.queue, &e)
}

// trace writes a line, with the time in milliseconds. What it cannot write is lost.
func (r *run[S, M, P]) trace(format string, args ...any) {
	if r.cfg.Trace != nil {
		fmt.Fprintf(r.cfg.Trace, "%12.6f  %s\n", float64(r.now)/1e6, fmt.Sprintf(format, args...))
	}
}

// begin starts all processes, which are then connected or not, and queues the faults.
func (r *run[S, M, P]) begin() {
	n := r.cfg.Peers
	r.network, r.load = r.cfg.Seed.Child("network").Rand(), r.cfg.Seed.Child("load").Rand()
	r.res = Result{Totals: Totals{Runs: 1, Ranks: make([]Rank, n)}, Counts: map[string]int{}}
	r.peers, r.links = make([]peer[S, M], n), make([]link, n*n)
	for i := range r.peers {
		r.peers[i].asksLeft = -1
		if i < len(r.cfg.Load.Ops) {
			r.peers[i].asksLeft = r.cfg.Load.Ops[i]
		}
		r.start(i, false)
	}
	r.setLinks()
	for i, f := range r.cfg.Faults {
		if until := min(f.Until, r.cfg.Duration); f.From < until {
			r.push(int64(f.From), event[M]{op: opBegin, arg: int32(i)})
			r.push(int64(until), event[M]{op: opEnd, arg: int32(i)})
		}
	}
	r.push(int64(r.cfg.Duration), event[M]{op: opDrain})
	r.push(int64(r.cfg.Duration+r.cfg.Patience), event[M]{op: opStop})
}

// next lets the next event happen, or puts it off if its process is stopped; false at the end.
func (r *run[S, M, P]) next() bool {
	if r.over || r.stopped || len(r.queue) == 0 {
		return false
	}
	e := heap.Pop(&r.queue).(*event[M])
	r.now = e.at
	if r.res.Events++; r.res.Events > r.cfg.MaxEvents {
		r.res.Truncated = 1
		return false
	}
	if p := &r.peers[e.to]; e.op < opDial && p.paused > 0 && p.alive {
		p.inbox = append(p.inbox, e)
	} else {
		r.happen(e)
	}
	return true
}

func (r *run[S, M, P]) happen(e *event[M]) {
	switch e.op {
	case opDeliver:
		r.deliver(e)
	case opGreet:
		r.greeted(e.to, e.from, e.gen)
	case opBye:
		if l := r.link(e.to, e.from); r.peers[e.to].alive && l.up && l.gen == e.gen {
			r.drop(e.to, e.from)
		}
	case opSilent:
		r.silence(e.to, e.from, e.gen)
	case opDial:
		r.dial(e.to, e.from)
	case opBegin, opEnd:
		r.fault(int(e.arg), e.op == opBegin)
	case opDrain, opStop:
		r.ends(e.op)
	default: // of one life of a process
		if p := &r.peers[e.to]; e.epoch == p.epoch && p.alive {
			r.inside(e)
		}
	}
}

// inside is what happens within a process.
func (r *run[S, M, P]) inside(e *event[M]) {
	i, p := e.to, &r.peers[e.to]
	switch e.op {
	case opAsk:
		r.ask(i)
	case opGiveUp:
		r.giveUp(i, e.arg)
	case opRelease:
		r.release(i, e.arg)
	case opTimer:
		if d := &p.timers[e.arg]; d.running && d.stamp == e.gen {
			r.expire(i, peercore.Timer(e.arg))
		}
	case opWake:
		if p.pauses == e.gen {
			r.step(i, peercore.Event[M]{Kind: peercore.Wake})
		}
	default: // the others are not of one life of a process
	}
}

// deliver gives a message to its receiver, if its connection still stands.
func (r *run[S, M, P]) deliver(e *event[M]) {
	i, l := e.to, r.link(e.to, e.from)
	switch {
	case !r.peers[i].alive:
		r.transmit(opBye, i, e.from, e.gen)
	case l.up && l.gen == e.gen:
		r.expireLate(i)
		if r.cfg.Trace != nil {
			r.trace("p%-3d <- p%d  %v", i, e.from, e.msg)
		}
		r.step(i, peercore.Event[M]{Kind: peercore.Receive, Peer: e.from, Msg: e.msg})
	}
}

// ends is told that no client asks any more, and then that the run is over, unless a peer waits whose
// turn may still come: behind a client that holds, or because others were served meanwhile.
func (r *run[S, M, P]) ends(what op) {
	switch {
	case what == opDrain:
		r.draining, r.hoped = true, r.res.Grants
	case r.waiting > 0 && (len(r.holders) > 0 || r.res.Grants != r.hoped):
		r.hoped = r.res.Grants
		r.push(r.now+int64(r.cfg.Patience), event[M]{op: opStop})
	default:
		r.over = true
	}
}

// start starts a process, the first time or after a crash.
func (r *run[S, M, P]) start(i int, again bool) {
	p := &r.peers[i]
	p.alive = true
	p.epoch++
	fresh := r.all.Start(i, again && !peercore.Stores[S, M, P](&p.State))
	if again {
		r.all.Restart(&p.Peer, &fresh)
	}
	p.Peer = fresh
	if core, timed := any(P(&p.State)).(peercore.Timed); timed {
		for _, t := range [...]peercore.Timer{peercore.Vote, peercore.Recovery} {
			if core.Running(t) {
				r.startTimer(i, t)
			}
		}
	}
	for range r.cfg.Load.Clients {
		r.think(i)
	}
}

// die ends a process with all that it did, and all that it was told and has not read.
func (r *run[S, M, P]) die(i int) {
	p := &r.peers[i]
	p.alive, p.inbox = false, nil
	r.forgetLinks(i)
	if p.Holds() {
		r.endHold(i)
	}
	p.Client, p.untold, p.claims, p.early = peercore.ClientIdle, false, nil, 0
	p.timers = [peercore.Timers]deadline{}
	r.waitEnds(p)
	r.forget(i)
}

// resume lets a stopped process go on: it reads all that has come meanwhile.
func (r *run[S, M, P]) resume(i int) {
	r.touchAll(i)
	p := &r.peers[i]
	if !p.alive {
		return
	}
	late := p.inbox
	p.inbox = nil
	for _, e := range late {
		if e.op == opSilent { // it could not listen, so it gives them time
			r.push(r.now+int64(silence), *e)
		} else {
			r.happen(e)
		}
	}
}

// fault lets a fault begin, or heals it. See due for drift.
func (r *run[S, M, P]) fault(k int, begins bool) {
	f, what := r.cfg.Faults[k], "ends"
	if begins {
		what = "begins"
	}
	r.trace("---- fault %s (%v)", what, f)
	if f.Kind == Partition || f.Kind == Slow {
		r.disturb(f, begins)
		return
	}
	for _, i := range f.A {
		p := &r.peers[i]
		switch {
		case f.Kind == Crash && begins && p.alive:
			r.die(i)
		case f.Kind == Crash && !begins && !p.alive && !r.down(i, k):
			r.start(i, true)
			r.touchAll(i)
			for j := range r.peers {
				if j != i {
					r.redial(min(i, j), max(i, j))
				}
			}
		case f.Kind == Pause && begins:
			p.paused++
			r.touchAll(i)
		case f.Kind == Pause:
			if p.paused--; p.paused == 0 {
				r.resume(i)
			}
		}
	}
}

// down says whether a fault other than k keeps the process down.
func (r *run[S, M, P]) down(i, k int) bool {
	for other, f := range r.cfg.Faults {
		until := int64(min(f.Until, r.cfg.Duration))
		if other != k && f.Kind == Crash && int64(f.From) <= r.now && r.now < until && slices.Contains(f.A, i) {
			return true
		}
	}
	return false
}
