package peerlock

import (
	"time"

	"locklab/locks/clock"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// lateCount is how many unwanted resources each shard keeps.
const lateCount = 4096 / shardCount

// pause is the timer of a Wake, in addition to those of [peercore.Timer].
const pause = peercore.Timers

// resource is the state of one resource, and this peer's claims in order of arrival. The state
// machine works for the first claim.
type resource[S, M any, P peercore.Machine[S, M]] struct {
	name   string
	state  S
	claims []*claim[S, M, P]
	held   bool              // by the first claim
	late   bool              // it is in shard.late
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
func (s *shard[S, M, P]) add(name string) *resource[S, M, P] {
	r := &resource[S, M, P]{name: name}
	P(&r.state).Reset(&s.idle, s.round)
	s.resources[name] = r
	return r
}

// tidy puts r, if it is unwanted, into the ring of late resources, and forgets the oldest of them.
func (s *shard[S, M, P]) tidy(r *resource[S, M, P]) {
	if r.late || r.wanted() {
		return
	}
	oldest := s.late[s.lateAt]
	r.late, s.late[s.lateAt] = true, r
	s.lateAt = (s.lateAt + 1) % lateCount
	if oldest == nil {
		return
	}
	if oldest.late = false; !oldest.wanted() {
		delete(s.resources, oldest.name)
		s.stopAll(oldest)
		oldest.untold = 0
		s.round = max(s.round, P(&oldest.state).Round())
	}
}

func (r *resource[S, M, P]) wanted() bool { return len(r.claims) > 0 || !P(&r.state).Idle() }

// step runs the state machine and carries out its effects.
func (s *shard[S, M, P]) step(r *resource[S, M, P], ev peercore.Event[M]) {
	s.effects = P(&r.state).Step(ev, s.effects[:0])
	lost := false
	for i := range s.effects {
		e := &s.effects[i]
		switch e.Kind {
		case peercore.Hold:
			r.token = e.Token
			s.tellHold(r)
		case peercore.Store:
			s.store(r)
		case peercore.Start:
			s.start(r, e.Timer)
		case peercore.Stop:
			s.stop(r, e.Timer)
		case peercore.Lose:
			lost = true
		case peercore.Pause:
			s.pause(r, e.Attempt)
		case peercore.Send:
			s.send(r, e)
		}
	}
	if lost { // last, because it runs the state machine again
		s.lose(r)
	}
}

// send skips peers whose connection is lost. The state machine may not know yet, because connection
// ends an overdue lease before it delivers Disconnect.
func (s *shard[S, M, P]) send(r *resource[S, M, P], e *peercore.Effect[M]) {
	s.wire = append(s.locker.protocol.Append(s.wire[:0], e.Msg), r.name...)
	for rank := range e.To.All() {
		if link := s.links[rank]; link != nil {
			s.sent++
			s.say(r, link, s.wire)
		}
	}
}

// receive handles one message from link.
func (s *shard[S, M, P]) receive(link *mesh.Link, name []byte, m M) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.resources[string(name)]
	switch {
	case s.closed:
		return
	case r == nil && !s.locker.protocol.Opens(m):
		return
	case r == nil:
		r = s.add(string(name))
	}
	s.expireLate(r)
	s.step(r, peercore.Event[M]{Kind: peercore.Receive, Peer: link.Rank(), Msg: m})
	s.tidy(r)
}

// connection delivers a Connect or Disconnect to all resources of the shard.
func (s *shard[S, M, P]) connection(link *mesh.Link, kind peercore.EventKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links[link.Rank()] = nil
	if kind == peercore.Connect {
		s.links[link.Rank()] = link
	}
	if s.closed {
		return
	}
	ev := peercore.Event[M]{Kind: kind, Peer: link.Rank()}
	s.effects = P(&s.idle).Step(ev, s.effects[:0]) // an unwanted resource has no effects
	for _, r := range s.resources {                // any order: resources are independent
		s.expireLate(r)
		s.step(r, ev)
		s.tidy(r)
	}
}

// start starts or restarts a timer of r.
func (s *shard[S, M, P]) start(r *resource[S, M, P], t peercore.Timer) {
	from := CountsFrom(t, &r.asked, s.locker.clock.Now())
	if takes := s.locker.protocol.Lease.Takes(t); takes > 0 {
		s.startAt(r, t, from.Add(takes))
		if t == peercore.Lease {
			r.until = from.Add(takes)
		}
	}
}

// pause arranges a Wake after a random time up to twice the mean, so that peers that
// collided do not collide again.
func (s *shard[S, M, P]) pause(r *resource[S, M, P], attempt int) {
	const doublings = 6
	mean := s.locker.protocol.Pause << min(attempt, doublings)
	s.startAt(r, pause, s.locker.clock.Now().Add(time.Duration(s.rand.Int64N(2*int64(mean)+1))))
}

func (s *shard[S, M, P]) startAt(r *resource[S, M, P], t peercore.Timer, at time.Time) {
	s.stop(r, t)
	n := &timer{at: at}
	n.alarm = s.locker.clock.AfterFunc(at.Sub(s.locker.clock.Now()), func() { s.fire(r, t, n) })
	r.timers[t] = n
}

func (s *shard[S, M, P]) stop(r *resource[S, M, P], t peercore.Timer) {
	if n := r.timers[t]; n != nil {
		n.alarm.Stop()
		r.timers[t] = nil
	}
}

func (s *shard[S, M, P]) stopAll(r *resource[S, M, P]) {
	for t := range pause + 1 {
		s.stop(r, t)
	}
}

// fire expires a timer of r, unless it was stopped or replaced.
func (s *shard[S, M, P]) fire(r *resource[S, M, P], t peercore.Timer, n *timer) {
	s.mu.Lock()
	defer s.locker.mesh.Flush()
	defer s.mu.Unlock()
	switch {
	case s.closed || r.timers[t] != n:
	case n.at.After(s.locker.clock.Now()): // the clock has slowed down
		n.alarm.Reset(n.at.Sub(s.locker.clock.Now()))
	default:
		s.expire(r, t)
	}
}

// expire delivers the end of a timer to r.
func (s *shard[S, M, P]) expire(r *resource[S, M, P], t peercore.Timer) {
	s.stop(r, t)
	ev := peercore.Event[M]{Kind: peercore.Expire, Timer: t}
	if t == pause {
		ev = peercore.Event[M]{Kind: peercore.Wake}
	}
	s.step(r, ev)
	s.tidy(r)
}

// expireLate ends a lease whose timer is overdue, as after a pause of the process, so that
// no later answer counts.
func (s *shard[S, M, P]) expireLate(r *resource[S, M, P]) {
	if n := r.timers[peercore.Lease]; n != nil && !n.at.After(s.locker.clock.Now()) {
		s.expire(r, peercore.Lease)
	}
}
