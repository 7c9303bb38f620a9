package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// world is processes in virtual time, the connections between them, their clocks, and what
// is broken. It knows nothing of what the processes do: that is their host's business,
// cores of peers and their clients or whatever else says M to each other.
type world[M any] struct {
	host    host[M]
	cfg     Config
	now     int64
	queue   queue
	slots   []slot[M]
	free    []int32
	procs   []process
	n       int
	links   []link // by from*n+to
	delays  []int64
	spans   []int64
	zones   int
	network *rand.Rand
	trace   *tracer
	res     Result
}

// host is what runs in the processes of a world.
type host[M any] interface {
	// boot is a process that starts, the first time or after a crash; died one that has
	// ended.
	boot(i int, again bool)
	died(i int)
	// connected and lost are i's ends of connections; heard is a message.
	connected(i, from int)
	lost(i, from int)
	heard(i, from int, msg M)
	// inside is another event of one life of a process, which its host has queued.
	inside(i int, sl *slot[M])
	// ends is opDrain or opStop.
	ends(what op)
}

// process is one process of a world.
type process struct {
	zone   int
	alive  bool
	paused int    // by so many faults
	epoch  uint32 // how often it was started
	drifts bool   // some fault bends its clock
	inbox  []int32
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
	from, to int16
	gen      uint32 // of the connection or the timer
	epoch    uint32 // of the process, for what happens inside
	arg      int32  // claim, timer or fault
	msg      M
}

// begin prepares a run. All processes are started, and then connected or not.
func (w *world[M]) begin(cfg Config, host host[M]) {
	w.host, w.cfg, w.n = host, cfg, cfg.Peers
	w.network = cfg.Seed.Child("network").Rand()
	if cfg.Trace != nil {
		w.trace = &tracer{out: cfg.Trace}
	}
	w.res = Result{Totals: Totals{Runs: 1, Ranks: make([]Rank, w.n)}, Counts: map[string]int{}}
	w.setPaths()
	w.setProcesses()
	w.setLinks()
	for i, f := range cfg.Faults {
		if until := min(f.Until, cfg.Duration); f.From < until {
			w.push(int64(f.From), slot[M]{op: opBegin, arg: int32(i)})
			w.push(int64(until), slot[M]{op: opEnd, arg: int32(i)})
		}
	}
	w.push(int64(cfg.Duration), slot[M]{op: opDrain})
	w.push(int64(cfg.Duration+cfg.Patience), slot[M]{op: opStop})
}

func (w *world[M]) setProcesses() {
	w.procs = make([]process, w.n)
	for i := range w.procs {
		w.procs[i].zone = i % w.zones
		w.start(i, false)
	}
	for _, f := range w.cfg.Faults {
		if f.Kind == Drift {
			for _, r := range f.A {
				w.procs[r].drifts = true
			}
		}
	}
}

// start starts a process.
func (w *world[M]) start(i int, again bool) {
	p := &w.procs[i]
	p.alive = true
	p.epoch++
	w.host.boot(i, again)
}

// die ends a process, and all that it was told and has not read.
func (w *world[M]) die(i int) {
	p := &w.procs[i]
	p.alive = false
	w.free = append(w.free, p.inbox...)
	p.inbox = nil
	w.forgetLinks(i)
	w.host.died(i)
}

// next lets the next event happen; false if there is none.
func (w *world[M]) next() bool {
	if len(w.queue.items) == 0 {
		return false
	}
	it := w.queue.pop()
	w.now = it.at
	w.res.Events++
	if w.res.Events > w.cfg.MaxEvents {
		w.res.Truncated = 1
		return false
	}
	w.handle(it.slot)
	return true
}

// setPaths makes the tables of delays and of how much they vary.
func (w *world[M]) setPaths() {
	z := w.cfg.Zones
	w.zones = z
	for a := range z {
		for b := range z {
			d := int64(w.cfg.Network.Delay[a][b])
			w.delays = append(w.delays, d)
			w.spans = append(w.spans, min(int64(float64(d)*w.cfg.Network.Jitter)+1, 1<<31))
		}
	}
}

// push queues an event.
func (w *world[M]) push(at int64, sl slot[M]) {
	k := w.slot()
	w.slots[k] = sl
	w.queue.push(at, k)
}

// slot is a place for an event.
func (w *world[M]) slot() int32 {
	if k := len(w.free); k > 0 {
		i := w.free[k-1]
		w.free = w.free[:k-1]
		return i
	}
	w.slots = append(w.slots, slot[M]{})
	return int32(len(w.slots) - 1)
}

// handle lets one event happen, or puts it off if its process is stopped.
func (w *world[M]) handle(i int32) {
	sl := &w.slots[i]
	if sl.op < opBegin && sl.op != opDial {
		p := &w.procs[sl.to]
		if p.paused > 0 && p.alive {
			p.inbox = append(p.inbox, i)
			return
		}
	}
	w.happen(i)
}

func (w *world[M]) happen(i int32) {
	if w.slots[i].op == opDeliver { // by far the most frequent; its message is not copied twice
		w.deliver(i)
		return
	}
	sl := w.slots[i]
	w.free = append(w.free, i)
	switch sl.op {
	case opGreet:
		w.greeted(int(sl.to), int(sl.from), sl.gen)
	case opBye:
		w.bye(int(sl.to), int(sl.from), sl.gen)
	case opSilent:
		w.silence(int(sl.to), int(sl.from), sl.gen)
	case opDial:
		w.dial(int(sl.to), int(sl.from))
	case opBegin:
		w.fault(int(sl.arg))
	case opEnd:
		w.end(int(sl.arg))
	case opDrain, opStop:
		w.host.ends(sl.op)
	default: // of one life of a process
		if p := &w.procs[sl.to]; sl.epoch == p.epoch && p.alive {
			w.host.inside(int(sl.to), &sl)
		}
	}
}

// deliver gives a message to its receiver, if its connection still stands.
func (w *world[M]) deliver(k int32) {
	sl := &w.slots[k]
	i, from, gen, msg := int(sl.to), int(sl.from), sl.gen, sl.msg
	w.free = append(w.free, k)
	if !w.procs[i].alive {
		w.transmit(opBye, i, from, gen)
		return
	}
	if l := &w.links[i*w.n+from]; l.up && l.gen == gen {
		w.host.heard(i, from, msg)
	}
}

// send gives a message to a connection, unless it is down.
func (w *world[M]) send(i, to int, msg *M) {
	l := &w.links[i*w.n+to]
	if !l.up {
		return
	}
	w.res.Messages++
	at := w.arrival(i, to, l)
	k := w.slot()
	sl := &w.slots[k]
	sl.op, sl.from, sl.to, sl.gen, sl.msg = opDeliver, int16(i), int16(to), l.gen, *msg
	w.queue.push(at, k)
}

// due is when d has passed on the clock of a peer since the given moment.
func (w *world[M]) due(i int, from int64, d time.Duration) int64 {
	if !w.procs[i].drifts {
		return from + int64(d)
	}
	at, left := from, float64(d)
	for {
		rate, next := w.clockAt(i, at)
		passes := float64(next-at) * rate
		if next < 0 || passes >= left {
			return at + int64(left/rate)
		}
		left -= passes
		at = next
	}
}

// clockAt is how fast the clock of a peer runs, and until when (-1: for good).
func (w *world[M]) clockAt(i int, at int64) (rate float64, next int64) {
	rate, next = 1, -1
	for _, f := range w.cfg.Faults {
		if f.Kind != Drift || !slices.Contains(f.A, i) {
			continue
		}
		from, until := int64(f.From), int64(min(f.Until, w.cfg.Duration))
		if from <= at && at < until {
			rate *= f.Rate
		}
		for _, edge := range [...]int64{from, until} {
			if edge > at && (next < 0 || edge < next) {
				next = edge
			}
		}
	}
	return rate, next
}
