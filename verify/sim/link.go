package sim

// link is one direction of a connection, and the sender's end of it.
type link struct {
	arrives int64  // when the last message that was sent gets there
	slower  int64  // what faults add to the delay
	gen     uint32 // which connection this end belongs to
	made    uint32 // at the end that dials: the last connection
	stamp   uint32 // changes whenever the direction falls silent or speaks again
	blocked int16  // by so many faults
	up      bool   // this end stands
	silent  bool
	dialing bool // at the end that dials
}

// setLinks makes the connections, or lets the peers look for each other.
func (w *world[M]) setLinks() {
	n := w.n
	w.links = make([]link, n*n)
	for i := range n {
		for j := range n {
			l := &w.links[i*n+j]
			switch {
			case i == j:
			case w.cfg.Formed:
				l.up, l.gen, l.made = true, 1, 1
			default:
				l.silent = true
				if i < j {
					w.redial(i, j)
				}
			}
		}
	}
	if w.cfg.Formed {
		for i := range n {
			for j := range n {
				if i != j {
					w.host.connected(i, j)
				}
			}
		}
		w.res.Messages = 0 // what is said on meeting is not the price of an acquisition
	}
}

// arrival is when what is sent now gets there: after the delay, after what holds the
// direction back, and after everything that was sent before.
func (w *world[M]) arrival(from, to int, l *link) int64 {
	path := w.procs[from].zone*w.zones + w.procs[to].zone
	r := w.network.Uint64()
	late := int64(r>>33) * w.spans[path] >> 31
	if r&127 == 0 {
		late *= 10
	}
	at := w.now
	if l.blocked > 0 {
		at = w.opens(from, to, at)
	}
	at = max(at+w.delays[path]+late+l.slower, l.arrives)
	l.arrives = at
	return at
}

// opens is when the direction carries bytes again.
func (w *world[M]) opens(from, to int, at int64) int64 {
	for again := true; again; {
		again = false
		for _, f := range w.cfg.Faults {
			until := int64(min(f.Until, w.cfg.Duration))
			if f.Kind == Partition && int64(f.From) <= at && at < until && f.hits(from, to) {
				at, again = until, true
			}
		}
	}
	return at
}

// transmit sends what is no message: the beginning and the end of a connection. The end is
// also what the kernel of a process that is gone answers.
func (w *world[M]) transmit(what op, from, to int, gen uint32) {
	at := w.arrival(from, to, &w.links[from*w.n+to])
	w.push(at, slot[M]{op: what, from: int16(from), to: int16(to), gen: gen})
}

// touch looks whether a direction has fallen silent or speaks again. What is silent
// for too long is noticed at the other end.
func (w *world[M]) touch(from, to int) {
	l := &w.links[from*w.n+to]
	p := &w.procs[from]
	silent := !l.up || l.blocked > 0 || !p.alive || p.paused > 0
	if silent == l.silent {
		return
	}
	l.silent = silent
	l.stamp++
	if silent {
		w.expectSilence(from, to)
	}
}

// expectSilence arranges that the receiver notices. The last heartbeat was up to one
// gap between two of them ago.
func (w *world[M]) expectSilence(from, to int) {
	since := w.now - w.network.Int64N(int64(heartbeat)) + w.delays[w.procs[from].zone*w.zones+w.procs[to].zone]
	w.push(max(w.now, since+int64(silence)), slot[M]{
		op: opSilent, from: int16(from), to: int16(to), gen: w.links[from*w.n+to].stamp,
	})
}

// silence ends a connection that was silent for too long.
func (w *world[M]) silence(i, from int, stamp uint32) {
	in := &w.links[from*w.n+i]
	if !in.silent || in.stamp != stamp || !w.procs[i].alive || !w.links[i*w.n+from].up {
		return
	}
	w.close(i, from)
}

// close ends the connection at i's end and tells the other one.
func (w *world[M]) close(i, from int) {
	gen := w.links[i*w.n+from].gen
	w.drop(i, from)
	w.transmit(opBye, i, from, gen)
}

// drop is the end of the connection for i.
func (w *world[M]) drop(i, from int) {
	w.links[i*w.n+from].up = false
	w.touch(i, from)
	if w.trace != nil {
		w.trace.connection(w.now, i, from, "lost")
	}
	w.host.lost(i, from)
	w.redial(min(i, from), max(i, from))
}

// bye is the end of a connection that the other side has closed.
func (w *world[M]) bye(i, from int, gen uint32) {
	l := &w.links[i*w.n+from]
	if w.procs[i].alive && l.up && l.gen == gen {
		w.drop(i, from)
	}
}

// redial arranges that the lower of two ranks tries to connect.
func (w *world[M]) redial(low, high int) {
	l := &w.links[low*w.n+high]
	if l.dialing {
		return
	}
	l.dialing = true
	w.dialAfter(low, high, int64(backoffMin))
}

// dialAfter tries again after about the given time. The longer the peers have been
// apart the longer the pause; at once it is only right after the loss.
func (w *world[M]) dialAfter(low, high int, pause int64) {
	w.push(w.now+pause/2+w.network.Int64N(pause), slot[M]{op: opDial, to: int16(low), from: int16(high)})
}

// dial connects if the way is open in both directions and both processes run.
func (w *world[M]) dial(low, high int) {
	out, in := &w.links[low*w.n+high], &w.links[high*w.n+low]
	a, b := &w.procs[low], &w.procs[high]
	switch {
	case !a.alive || out.up: // a new process dials anew; an end that stands does not
		out.dialing = false
	case a.paused > 0 || !b.alive || b.paused > 0 || out.blocked > 0 || in.blocked > 0:
		w.dialAfter(low, high, int64(backoffMax))
	default:
		out.dialing = false
		out.made++
		w.hello(low, high, out.made)
	}
}

// hello is the handshake: two round trips until the dialing side is connected. Its
// first heartbeat then tells the other one.
func (w *world[M]) hello(low, high int, gen uint32) {
	there, back := w.procs[low].zone*w.zones+w.procs[high].zone, w.procs[high].zone*w.zones+w.procs[low].zone
	took := 2*(w.delays[there]+w.delays[back]) + w.links[low*w.n+high].slower + w.links[high*w.n+low].slower
	w.push(w.now+took, slot[M]{op: opGreet, to: int16(low), from: int16(high), gen: gen, epoch: w.procs[low].epoch, arg: int32(w.procs[high].epoch)})
}

// greeted is a new connection at i's end.
func (w *world[M]) greeted(i, from int, gen uint32) {
	l := &w.links[i*w.n+from]
	switch {
	case !w.procs[i].alive:
		if i > from {
			w.transmit(opBye, i, from, gen)
		}
		return
	case i < from && (gen != l.made || !w.procs[from].alive): // meanwhile something happened
		w.redial(i, from)
		return
	case i > from && gen <= l.gen: // a newer one stands
		return
	case l.up:
		w.drop(i, from) // it is replaced
	}
	l.up, l.gen = true, gen
	w.touch(i, from)
	if w.trace != nil {
		w.trace.connection(w.now, i, from, "made")
	}
	if i < from {
		w.transmit(opGreet, i, from, gen)
		if in := &w.links[from*w.n+i]; in.silent { // unless the other end hears of it
			in.stamp++
			w.expectSilence(from, i)
		}
	}
	w.host.connected(i, from)
}

// forgetLinks ends all connections of a process that has died. Its kernel resets them.
func (w *world[M]) forgetLinks(i int) {
	for j := range w.n {
		if j == i {
			continue
		}
		l := &w.links[i*w.n+j]
		gen, was := l.gen, l.up
		l.up = false
		w.touch(i, j)
		if was {
			w.transmit(opBye, i, j, gen)
		}
	}
}

// lookForPeers has a process that was started again, and those that it is to be dialed
// by, try to connect.
func (w *world[M]) lookForPeers(i int) {
	for j := range w.n {
		if j != i {
			w.redial(min(i, j), max(i, j))
		}
	}
}
