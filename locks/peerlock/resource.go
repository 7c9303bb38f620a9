package peerlock

import (
	"time"

	"locklab/locks/clock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// lateCount is how many unwanted resources are kept.
const lateCount = 4096

// pause is the timer of a Wake, beside those of [peercore.Timer].
const pause = peercore.Timers

// resource is what this peer knows of one resource, and its own claims in order of arrival.
// The state machine works for the first of them.
type resource[S, M any, P peercore.Machine[S, M]] struct {
	name   string
	state  S
	claims []*claim[S, M, P]
	held   bool              // by the first
	late   bool              // it is in Locker.late
	timers [pause + 1]*timer // nil while it does not run
	asked  time.Time         // the last Start of Renew: from then on the lease counts
	until  time.Time         // when the lease ends, or has ended
	token  uint64            // of the algorithm, while held
	served int               // claims that the acquisition served that holds now
	since  time.Time         // from when on it does
	stored uint64            // the batch of the journal with what was stored last
	untold uint64            // the batch for which a hold waits that the first was not told of yet; 0: there is none
}

// timer is one of a resource. It is over at the moment of a clock that may change its rate.
type timer struct {
	at    time.Time
	alarm clock.Timer
}

// add makes a resource. There is no bound here: a peer must know of all that the others want.
func (l *Locker[S, M, P]) add(name string) *resource[S, M, P] {
	r := &resource[S, M, P]{name: name}
	P(&r.state).Reset(&l.idle, l.round)
	l.resources[name] = r
	return r
}

// tidy sees to it that r is forgotten some time if it is not wanted any more.
func (l *Locker[S, M, P]) tidy(r *resource[S, M, P]) {
	if r.late || r.wanted() {
		return
	}
	oldest := l.late[l.lateAt]
	r.late, l.late[l.lateAt] = true, r
	l.lateAt = (l.lateAt + 1) % lateCount
	if oldest == nil {
		return
	}
	if oldest.late = false; !oldest.wanted() {
		delete(l.resources, oldest.name)
		l.stopAll(oldest)
		oldest.untold = 0
		l.round = max(l.round, P(&oldest.state).Round())
	}
}

func (r *resource[S, M, P]) wanted() bool { return len(r.claims) > 0 || !P(&r.state).Idle() }

// step runs the state machine and carries out what it asks for.
func (l *Locker[S, M, P]) step(r *resource[S, M, P], ev peercore.Event[M]) {
	l.effects = P(&r.state).Step(ev, l.effects[:0])
	lost := false
	for i := range l.effects {
		e := &l.effects[i]
		switch e.Kind {
		case peercore.Hold:
			r.token = e.Token
			l.tellHold(r)
		case peercore.Store:
			l.store(r)
		case peercore.Start:
			l.start(r, e.Timer)
		case peercore.Stop:
			l.stop(r, e.Timer)
		case peercore.Lose:
			lost = true
		case peercore.Pause:
			l.pause(r, e.Attempt)
		case peercore.Send:
			l.send(r, e)
		}
	}
	if lost { // only now: it runs the state machine again
		l.lose(r)
	}
}

// send leaves out peers whose connection is lost, though the state machine may not have
// been told yet: a lease that ran out is ended first.
func (l *Locker[S, M, P]) send(r *resource[S, M, P], e *peercore.Effect[M]) {
	l.wire = append(l.protocol.Append(l.wire[:0], e.Msg), r.name...)
	for rank := range e.To.All() {
		if link := l.links[rank]; link != nil {
			l.sent++
			l.say(r, link, l.wire)
		}
	}
}

// receive takes one message that came over link.
func (l *Locker[S, M, P]) receive(link *mesh.Link, name []byte, m M) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.resources[string(name)]
	switch {
	case l.closed:
		return
	case r == nil && !l.protocol.Opens(m):
		return
	case r == nil:
		r = l.add(string(name))
	}
	l.expireLate(r)
	l.step(r, peercore.Event[M]{Kind: peercore.Receive, Peer: link.Rank(), Msg: m})
	l.tidy(r)
}

// connection tells all resources that a connection came or went.
func (l *Locker[S, M, P]) connection(link *mesh.Link, kind peercore.EventKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.links[link.Rank()] = nil
	if kind == peercore.Connect {
		l.links[link.Rank()] = link
	}
	if l.closed {
		return
	}
	ev := peercore.Event[M]{Kind: kind, Peer: link.Rank()}
	l.effects = P(&l.idle).Step(ev, l.effects[:0]) // has no effects: it is not wanted
	for _, r := range l.resources {                // any order: resources are independent
		l.expireLate(r)
		l.step(r, ev)
		l.tidy(r)
	}
	l.checkReady()
}

// start starts a timer of r, or starts it again.
func (l *Locker[S, M, P]) start(r *resource[S, M, P], t peercore.Timer) {
	from := CountsFrom(t, &r.asked, l.clock.Now())
	if takes := l.protocol.Lease.Takes(t); takes > 0 {
		l.startAt(r, t, from.Add(takes))
		if t == peercore.Lease {
			r.until = from.Add(takes)
		}
	}
}

// pause arranges a Wake. The time is random within twice its mean, so that peers
// that ran into each other do not do so again.
func (l *Locker[S, M, P]) pause(r *resource[S, M, P], attempt int) {
	const doublings = 6
	mean := l.protocol.Pause << min(attempt, doublings)
	l.startAt(r, pause, l.clock.Now().Add(time.Duration(l.rand.Int64N(2*int64(mean)+1))))
}

func (l *Locker[S, M, P]) startAt(r *resource[S, M, P], t peercore.Timer, at time.Time) {
	l.stop(r, t)
	n := &timer{at: at}
	n.alarm = l.clock.AfterFunc(at.Sub(l.clock.Now()), func() { l.fire(r, t, n) })
	r.timers[t] = n
}

// stop stops a timer of r, if it runs.
func (l *Locker[S, M, P]) stop(r *resource[S, M, P], t peercore.Timer) {
	if n := r.timers[t]; n != nil {
		n.alarm.Stop()
		r.timers[t] = nil
	}
}

func (l *Locker[S, M, P]) stopAll(r *resource[S, M, P]) {
	for t := range pause + 1 {
		l.stop(r, t)
	}
}

// fire tells r that a timer is over, unless it was stopped or replaced.
func (l *Locker[S, M, P]) fire(r *resource[S, M, P], t peercore.Timer, n *timer) {
	l.mu.Lock()
	defer l.mesh.Flush()
	defer l.mu.Unlock()
	switch {
	case l.closed || r.timers[t] != n:
	case n.at.After(l.clock.Now()): // the clock runs slower by now
		n.alarm.Reset(n.at.Sub(l.clock.Now()))
	default:
		l.expire(r, t)
	}
}

// expire tells r that its timer is over.
func (l *Locker[S, M, P]) expire(r *resource[S, M, P], t peercore.Timer) {
	l.stop(r, t)
	ev := peercore.Event[M]{Kind: peercore.Expire, Timer: t}
	if t == pause {
		ev = peercore.Event[M]{Kind: peercore.Wake}
	}
	l.step(r, ev)
	l.tidy(r)
}

// expireLate ends a lease that is over although its timer has not gone off yet, as
// after a pause of the process: no answer that comes now may count.
func (l *Locker[S, M, P]) expireLate(r *resource[S, M, P]) {
	if n := r.timers[peercore.Lease]; n != nil && !n.at.After(l.clock.Now()) {
		l.expire(r, peercore.Lease)
	}
}
