package peerlock

import (
	"time"

	"locklab/locks/clock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// lateCount is how many unwanted resources are kept.
const lateCount = 4096

// pause is the timer of a Wake, in addition to those of [peercore.Timer].
const pause = peercore.Timers

// resource is the state of one resource, and this peer's claims in order of arrival. The state
// machine works for the first claim.
type resource[S, M any, P peercore.Machine[S, M]] struct {
	name   string
	state  S
	claims []*claim[S, M, P]
	held   bool              // by the first claim
	late   bool              // it is in Locker.late
	timers [pause + 1]*timer // nil if not running
	asked  time.Time         // the last Start of Renew, from which the lease counts
	until  time.Time         // the end of the lease
	token  uint64            // of the algorithm, while held
	served int               // claims served by the present acquisition
	since  time.Time         // when it was granted
	stored uint64            // its latest batch in the journal
	untold uint64            // the batch that the first claim's hold waits for; 0 if none
}

// timer is a running timer. It keeps its deadline, since the clock may change its rate.
type timer struct {
	at    time.Time
	alarm clock.Timer
}

// add makes a resource. Their number is not bounded: a peer must know all resources that others want.
func (l *Locker[S, M, P]) add(name string) *resource[S, M, P] {
	r := &resource[S, M, P]{name: name}
	P(&r.state).Reset(&l.idle, l.round)
	l.resources[name] = r
	return r
}

// tidy puts r, if it is unwanted, into the ring of late resources, and forgets the oldest of them.
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

// step runs the state machine and carries out its effects.
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
	if lost { // last, because it runs the state machine again
		l.lose(r)
	}
}

// send skips peers whose connection is lost. The state machine may not know yet, because connection
// ends an overdue lease before it delivers Disconnect.
func (l *Locker[S, M, P]) send(r *resource[S, M, P], e *peercore.Effect[M]) {
	l.wire = append(l.protocol.Append(l.wire[:0], e.Msg), r.name...)
	for rank := range e.To.All() {
		if link := l.links[rank]; link != nil {
			l.sent++
			l.say(r, link, l.wire)
		}
	}
}

// receive handles one message from link.
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

// connection delivers a Connect or Disconnect to all resources.
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
	l.effects = P(&l.idle).Step(ev, l.effects[:0]) // an unwanted resource has no effects
	for _, r := range l.resources {                // any order: resources are independent
		l.expireLate(r)
		l.step(r, ev)
		l.tidy(r)
	}
	l.checkReady()
}

// start starts or restarts a timer of r.
func (l *Locker[S, M, P]) start(r *resource[S, M, P], t peercore.Timer) {
	from := CountsFrom(t, &r.asked, l.clock.Now())
	if takes := l.protocol.Lease.Takes(t); takes > 0 {
		l.startAt(r, t, from.Add(takes))
		if t == peercore.Lease {
			r.until = from.Add(takes)
		}
	}
}

// pause arranges a Wake after a random time up to twice the mean, so that peers that
// collided do not collide again.
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

// fire expires a timer of r, unless it was stopped or replaced.
func (l *Locker[S, M, P]) fire(r *resource[S, M, P], t peercore.Timer, n *timer) {
	l.mu.Lock()
	defer l.mesh.Flush()
	defer l.mu.Unlock()
	switch {
	case l.closed || r.timers[t] != n:
	case n.at.After(l.clock.Now()): // the clock has slowed down
		n.alarm.Reset(n.at.Sub(l.clock.Now()))
	default:
		l.expire(r, t)
	}
}

// expire delivers the end of a timer to r.
func (l *Locker[S, M, P]) expire(r *resource[S, M, P], t peercore.Timer) {
	l.stop(r, t)
	ev := peercore.Event[M]{Kind: peercore.Expire, Timer: t}
	if t == pause {
		ev = peercore.Event[M]{Kind: peercore.Wake}
	}
	l.step(r, ev)
	l.tidy(r)
}

// expireLate ends a lease whose timer is overdue, as after a pause of the process, so that
// no later answer counts.
func (l *Locker[S, M, P]) expireLate(r *resource[S, M, P]) {
	if n := r.timers[peercore.Lease]; n != nil && !n.at.After(l.clock.Now()) {
		l.expire(r, peercore.Lease)
	}
}
