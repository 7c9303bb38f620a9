package sim

import (
	"time"

	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// heartbeat is half of what it is in package mesh: another one would change the draws of every seed.
const heartbeat = 50 * time.Millisecond

// link is one direction of a connection, and the sender's end of it.
type link struct {
	arrives int64  // when the last message that was sent gets there
	slower  int64  // what faults add to the delay
	gen     uint32 // which connection this end belongs to
	made    uint32 // at the end that dials: the last connection
	stamp   uint32 // changes whenever the direction falls silent or speaks again
	blocked int    // by so many faults
	up      bool   // this end stands
	silent  bool
	dialing bool // at the end that dials
}

func (r *run[S, M, P]) link(from, to int) *link { return &r.links[from*r.cfg.Peers+to] }

// arrival is when what is sent now gets there: after the delay, after what holds the direction back,
// and after everything that was sent before.
func (r *run[S, M, P]) arrival(from, to int, l *link) int64 {
	delay := r.cfg.delay(from, to)
	span := min(int64(float64(delay)*r.cfg.Jitter)+1, 1<<31)
	x := r.network.Uint64()
	late := int64(x>>33) * span >> 31
	if x&127 == 0 {
		late *= 10
	}
	at := r.now
	if l.blocked > 0 {
		at = r.opens(from, to)
	}
	l.arrives = max(at+delay+late+l.slower, l.arrives)
	return l.arrives
}

// opens is when the direction carries bytes again.
func (r *run[S, M, P]) opens(from, to int) int64 {
	at := r.now
	for again := true; again; {
		again = false
		for _, f := range r.cfg.Faults {
			if f.Kind == Partition && f.during(at) && f.hits(from, to) {
				at, again = int64(f.Until), true
			}
		}
	}
	return at
}

// disturb changes all directions that a partition hits, or something that is slow.
func (r *run[S, M, P]) disturb(f Fault, begins bool) {
	by := -1
	if begins {
		by = 1
	}
	change := func(from, to int) {
		l := r.link(from, to)
		if f.Kind == Slow {
			l.slower += int64(by) * int64(f.Delay)
			return
		}
		l.blocked += by
		r.touch(from, to)
	}
	for _, a := range f.A {
		for _, b := range f.B {
			change(a, b)
			if !f.OneWay {
				change(b, a)
			}
		}
	}
}

// send gives a message to a connection, unless it is down.
func (r *run[S, M, P]) send(i, to int, msg M) {
	if l := r.link(i, to); l.up {
		r.res.Messages++
		gen := l.gen
		r.later(r.arrival(i, to, l), to, func() { r.deliver(to, i, gen, msg) })
	}
}

// deliver gives a message to its receiver, if its connection still stands.
func (r *run[S, M, P]) deliver(i, from int, gen uint32, msg M) {
	l := r.link(i, from)
	switch {
	case !r.peers[i].alive: // the kernel answers
		r.bye(i, from, gen)
	case l.up && l.gen == gen:
		r.expireLate(i)
		if r.cfg.Trace != nil {
			r.trace("p%-3d <- p%d  %v", i, from, msg)
		}
		r.step(i, peercore.Event[M]{Kind: peercore.Receive, Peer: from, Msg: msg})
	}
}

// bye tells the other end that a connection is over.
func (r *run[S, M, P]) bye(from, to int, gen uint32) {
	r.later(r.arrival(from, to, r.link(from, to)), to, func() {
		if l := r.link(to, from); r.peers[to].alive && l.up && l.gen == gen {
			r.drop(to, from)
		}
	})
}

// touch looks whether a direction has fallen silent or speaks again. What is silent for too long is
// noticed at the other end.
func (r *run[S, M, P]) touch(from, to int) {
	l, p := r.link(from, to), &r.peers[from]
	silent := !l.up || l.blocked > 0 || !p.alive || p.paused > 0
	if silent == l.silent {
		return
	}
	l.silent = silent
	l.stamp++
	if silent {
		r.expectSilence(from, to)
	}
}

func (r *run[S, M, P]) touchAll(i int) {
	for j := range r.peers {
		if j != i {
			r.touch(i, j)
		}
	}
}

// expectSilence arranges that the receiver notices. The last heartbeat was up to one gap between two
// of them ago.
func (r *run[S, M, P]) expectSilence(from, to int) {
	since := r.now - r.network.Int64N(int64(heartbeat)) + r.cfg.delay(from, to)
	stamp := r.link(from, to).stamp
	at := max(r.now, since+int64(mesh.SilenceMin))
	r.push(event{at: at, to: to, silent: true, do: func() { r.silence(to, from, stamp) }})
}

// silence ends a connection that was silent for too long, and tells the other end.
func (r *run[S, M, P]) silence(i, from int, stamp uint32) {
	in, l := r.link(from, i), r.link(i, from)
	if !in.silent || in.stamp != stamp || !r.peers[i].alive || !l.up {
		return
	}
	gen := l.gen
	r.drop(i, from)
	r.bye(i, from, gen)
}

// drop is the end of the connection for i.
func (r *run[S, M, P]) drop(i, from int) {
	r.link(i, from).up = false
	r.touch(i, from)
	r.trace("p%-3d connection to p%d lost", i, from)
	r.step(i, peercore.Event[M]{Kind: peercore.Disconnect, Peer: from})
	r.redial(min(i, from), max(i, from))
}

// redial arranges that the lower of two ranks tries to connect.
func (r *run[S, M, P]) redial(low, high int) {
	if l := r.link(low, high); !l.dialing {
		l.dialing = true
		r.dialAfter(low, high, int64(mesh.BackoffMin))
	}
}

// dialAfter tries again after about the given time: long, but for the first time.
func (r *run[S, M, P]) dialAfter(low, high int, pause int64) {
	r.later(r.now+pause/2+r.network.Int64N(pause), nowhere, func() { r.dial(low, high) })
}

// dial connects if the way is open in both directions and both processes run. The handshake takes two
// round trips until the dialing side is connected. Its first heartbeat then tells the other one.
func (r *run[S, M, P]) dial(low, high int) {
	out, in := r.link(low, high), r.link(high, low)
	a, b := &r.peers[low], &r.peers[high]
	switch {
	case !a.alive || out.up: // a new process dials anew; an end that stands does not
		out.dialing = false
	case a.paused > 0 || !b.alive || b.paused > 0 || out.blocked > 0 || in.blocked > 0:
		r.dialAfter(low, high, int64(mesh.BackoffMax))
	default:
		out.dialing = false
		out.made++
		took := 2*(r.cfg.delay(low, high)+r.cfg.delay(high, low)) + out.slower + in.slower
		gen := out.made
		r.later(r.now+took, low, func() { r.greeted(low, high, gen) })
	}
}

// greeted is a new connection at i's end.
func (r *run[S, M, P]) greeted(i, from int, gen uint32) {
	l := r.link(i, from)
	switch {
	case !r.peers[i].alive:
		if i > from {
			r.bye(i, from, gen)
		}
		return
	case i < from && (gen != l.made || !r.peers[from].alive): // meanwhile something happened
		r.redial(i, from)
		return
	case i > from && gen <= l.gen: // a newer one stands
		return
	case l.up:
		r.drop(i, from) // it is replaced
	}
	l.up, l.gen = true, gen
	r.touch(i, from)
	r.trace("p%-3d connection to p%d made", i, from)
	if i < from {
		r.later(r.arrival(i, from, l), from, func() { r.greeted(from, i, gen) })
		if in := r.link(from, i); in.silent { // unless the other end hears of it
			in.stamp++
			r.expectSilence(from, i)
		}
	}
	r.step(i, peercore.Event[M]{Kind: peercore.Connect, Peer: from})
}

// forgetLinks ends all connections of a process that has died. Its kernel resets them.
func (r *run[S, M, P]) forgetLinks(i int) {
	for j := range r.peers {
		if j == i {
			continue
		}
		l := r.link(i, j)
		gen, was := l.gen, l.up
		l.up = false
		r.touch(i, j)
		if was {
			r.bye(i, j, gen)
		}
	}
}
