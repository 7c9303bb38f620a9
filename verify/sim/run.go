package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// Simulator runs one lock. It is safe for concurrent use.
type Simulator func(cfg Config) Result

// New makes a simulator of one lock.
func New[S, M any, P peercore.Core[S, M]](lock peerlock.Protocol[S, M]) Simulator {
	return func(cfg Config) Result {
		r := &run[S, M, P]{cfg: cfg.withDefaults(), lock: lock}
		r.all = peers.Peers[S, M, P]{Alg: lock.Algorithm, N: r.cfg.Peers, Does: r.does}
		r.begin()
		for r.next() {
		}
		r.finish()
		return r.res
	}
}

// run is one run, which is single-threaded.
type run[S, M any, P peercore.Core[S, M]] struct {
	cfg           Config
	lock          peerlock.Protocol[S, M]
	all           peers.Peers[S, M, P]
	now           int64 // nanoseconds of virtual time
	queue         queue
	seq           uint64
	peers         []peer[S, M]
	links         []link // by from*n+to
	network, load *rand.Rand
	claims        int32 // how many there were
	draining      bool  // no client asks any more
	over          bool
	hoped         uint64
	res           Result

	// What is checked.
	waiting int    // peers
	holders []int  // whose clients believe that they hold
	seen    uint64 // the highest token
}

// peer is one process, the lock in it, and its clients.
type peer[S, M any] struct {
	alive  bool
	paused int    // by so many faults
	epoch  uint32 // how often it was started
	inbox  []*event

	peers.Peer[S]
	timers     [peercore.Timers]deadline
	asked      int64 // the last Start of Renew
	pauses     uint32
	claims     []claim // its queue, the first is worked for
	untold     bool    // its client believes something else than the core
	lost       bool    // in this step
	token      uint64
	since      int64 // of the hold
	served     int   // by this acquisition
	waitsSince int64
	waiting    bool // for the core
}

type deadline struct {
	running  bool
	from, at int64
	stamp    uint32
}

// event is something that is to happen.
type event struct {
	at     int64
	seq    uint64 // orders the events of one time
	to     int    // the process, which must not stand still; nowhere: none
	epoch  uint32 // of the process, for what happens in one life of it; 0: in any
	silent bool   // nothing was heard for too long, unless something was
	do     func()
}

const nowhere = -1

type queue []*event

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)   { *q = append(*q, e.(*event)) }

func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	*q = (*q)[:last]
	return e
}

func (r *run[S, M, P]) push(e event) {
	r.seq++
	e.seq = r.seq
	heap.Push(&r.queue, &e)
}

// later queues what happens to a process, or to none.
func (r *run[S, M, P]) later(at int64, to int, do func()) { r.push(event{at: at, to: to, do: do}) }

// inLife queues what happens unless the process dies before.
func (r *run[S, M, P]) inLife(at int64, to int, do func()) {
	r.push(event{at: at, to: to, epoch: r.peers[to].epoch, do: do})
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
	r.res = Result{Totals: Totals{Runs: 1, Wait: newWaits()}, Counts: map[string]int{}}
	r.peers, r.links = make([]peer[S, M], n), make([]link, n*n)
	for i := range r.peers {
		r.start(i, false)
	}
	for i := range r.peers {
		for j := range r.peers {
			if r.link(i, j).silent = true; i < j {
				r.redial(i, j)
			}
		}
	}
	for i, f := range r.cfg.Faults {
		if f.From < f.Until {
			r.later(int64(f.From), nowhere, func() { r.fault(i, true) })
			r.later(int64(f.Until), nowhere, func() { r.fault(i, false) })
		}
	}
	r.later(int64(r.cfg.Duration), nowhere, func() { r.draining, r.hoped = true, r.res.Grants })
	r.later(int64(r.cfg.Duration+patience), nowhere, r.ends)
}

// next lets the next event happen, or puts it off if its process is stopped; false at the end.
func (r *run[S, M, P]) next() bool {
	if r.over || len(r.queue) == 0 {
		return false
	}
	e := heap.Pop(&r.queue).(*event)
	r.now = e.at
	if e.to != nowhere && r.peers[e.to].paused > 0 && r.peers[e.to].alive {
		r.peers[e.to].inbox = append(r.peers[e.to].inbox, e)
	} else {
		r.happen(e)
	}
	return true
}

func (r *run[S, M, P]) happen(e *event) {
	if e.epoch == 0 || e.epoch == r.peers[e.to].epoch && r.peers[e.to].alive {
		e.do()
	}
}

// ends is told that the run is over, unless a peer waits whose turn may still come: behind a client that
// holds, or because others were served meanwhile.
func (r *run[S, M, P]) ends() {
	holds := func(i int) bool { return r.peers[i].Holds() }
	r.over = r.waiting == 0 || !slices.ContainsFunc(r.holders, holds) && r.res.Grants == r.hoped
	if !r.over {
		r.hoped = r.res.Grants
		r.later(r.now+int64(patience), nowhere, r.ends)
	}
}

// start starts a process, the first time or after a crash.
func (r *run[S, M, P]) start(i int, again bool) {
	p := &r.peers[i]
	p.alive = true
	p.epoch++
	if again {
		p.Peer = r.all.Restart(i, &p.Peer)
	} else {
		p.Peer = r.all.Start(i)
	}
	if core, timed := any(P(&p.State)).(peercore.Timed); timed && core.Running(peercore.Vote) {
		r.startTimer(i, peercore.Vote)
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
	p.Client, p.untold, p.claims = peercore.ClientIdle, false, nil
	p.timers = [peercore.Timers]deadline{}
	r.waitEnds(p)
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
		if e.silent { // it could not listen, so it gives them time
			e.at = r.now + int64(mesh.SilenceMin)
			r.push(*e)
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
	if f.ofLinks() {
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
		if other != k && f.Kind == Crash && f.during(r.now) && slices.Contains(f.A, i) {
			return true
		}
	}
	return false
}
