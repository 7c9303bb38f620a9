package peerlock

import (
	"time"

	"locklab/locks/clock"
	"locklab/locks/peerlock/peercore"
)

// Lease is how long a holder may believe what its peers granted it.
type Lease struct {
	// TTL is the lease, counted at the holder from before it asked.
	TTL time.Duration
	// Renew is how long after it asked a holder asks again; zero never does.
	Renew time.Duration
	// Margin is how much longer a peer keeps its vote, counted from when it was asked.
	// It makes up for clocks that do not run alike.
	Margin time.Duration
}

// Takes is how long a timer runs, from [CountsFrom] on. One that takes nothing never goes off.
func (l Lease) Takes(t peercore.Timer) time.Duration {
	switch t {
	case peercore.Lease:
		return l.TTL
	case peercore.Renew:
		return l.Renew
	default: // Vote and Recovery
		return l.TTL + l.Margin
	}
}

// CountsFrom is from when on a timer counts that starts now: Lease from when its holder asked,
// at the last Start of Renew, which is noted.
func CountsFrom[T any](t peercore.Timer, asked *T, now T) T {
	if t == peercore.Renew {
		*asked = now
	}
	if t == peercore.Lease {
		return *asked
	}
	return now
}

// tokenBits is how many of the low bits of a [locks.Token] tell the members of one
// cohort apart. The rest is the token of the algorithm.
const tokenBits = 10

// CohortMost is the largest cohort of an algorithm with leases.
const CohortMost = 1 << tokenBits

// times is the timers of one resource. The zero value has none running.
type times[S, M any, P peercore.Machine[S, M]] struct {
	asked time.Time // the last Start of Renew: from then on the lease counts
	until time.Time // when the lease ends
	on    [peercore.Timers]node[S, M, P]
}

// node is a place in the shard's list of one kind of timer.
type node[S, M any, P peercore.Machine[S, M]] struct {
	running    bool
	at         time.Time
	prev, next *resource[S, M, P]
}

// deadlines is a shard's running timers: for each kind a list, the first deadline
// first. All timers of a kind run equally long, so most new ones belong at the end.
type deadlines[S, M any, P peercore.Machine[S, M]] struct {
	first, last [peercore.Timers]*resource[S, M, P]
	alarm       clock.Timer // goes off at alarmAt or before the first deadline; nil if there was none yet
	alarmAt     time.Time   // zero while no alarm is set
}

// start starts a timer of r, or starts it again.
func (s *shard[S, M, P]) start(r *resource[S, M, P], t peercore.Timer) {
	if r.times == nil {
		r.times = &times[S, M, P]{}
	}
	from, takes := CountsFrom(t, &r.times.asked, s.locker.clock.Now()), s.locker.protocol.Lease.Takes(t)
	if takes == 0 {
		return
	}
	at := from.Add(takes)
	if t == peercore.Lease {
		r.times.until = at
	}
	s.stop(r, t)
	d, n := &s.deadlines, &r.times.on[t]
	after := d.last[t]
	for after != nil && after.times.on[t].at.After(at) {
		after = after.times.on[t].prev
	}
	n.running, n.at, n.prev = true, at, after
	if after == nil {
		n.next, d.first[t] = d.first[t], r
	} else {
		n.next, after.times.on[t].next = after.times.on[t].next, r
	}
	if n.next == nil {
		d.last[t] = r
	} else {
		n.next.times.on[t].prev = r
	}
	s.setAlarm(at)
}

// stop stops a timer of r, if it runs.
func (s *shard[S, M, P]) stop(r *resource[S, M, P], t peercore.Timer) {
	if r.times == nil || !r.times.on[t].running {
		return
	}
	d, n := &s.deadlines, &r.times.on[t]
	if n.prev == nil {
		d.first[t] = n.next
	} else {
		n.prev.times.on[t].next = n.next
	}
	if n.next == nil {
		d.last[t] = n.prev
	} else {
		n.next.times.on[t].prev = n.prev
	}
	*n = node[S, M, P]{}
}

// stopAll stops all timers of r, which is being forgotten.
func (s *shard[S, M, P]) stopAll(r *resource[S, M, P]) {
	if r.times == nil {
		return
	}
	for t := range peercore.Timers {
		s.stop(r, t)
	}
}

// setAlarm sees to it that the alarm goes off at the latest at the given time. It is
// never put off: most timers are stopped long before they end, and an alarm that
// finds nothing sets the next one.
func (s *shard[S, M, P]) setAlarm(at time.Time) {
	d := &s.deadlines
	if !d.alarmAt.IsZero() && !d.alarmAt.After(at) {
		return
	}
	d.alarmAt = at
	in := at.Sub(s.locker.clock.Now())
	if d.alarm == nil {
		d.alarm = s.locker.clock.AfterFunc(in, s.expire)
		return
	}
	d.alarm.Reset(in)
}

// expire tells all resources whose timers are over.
func (s *shard[S, M, P]) expire() {
	<-s.locker.started
	if s.expireAll() {
		s.locker.flush()
	}
}

// expireAll does so, unless the locker is closed; then it says false.
func (s *shard[S, M, P]) expireAll() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.deadlines.alarmAt = time.Time{}
	now := s.locker.clock.Now()
	for t := range peercore.Timers {
		for r := s.deadlines.first[t]; r != nil && !r.times.on[t].at.After(now); r = s.deadlines.first[t] {
			s.expireOne(r, t)
		}
	}
	if next := s.soonest(); !next.IsZero() {
		s.setAlarm(next)
	}
	return true
}

// soonest is the first deadline of all, zero if there is none.
func (s *shard[S, M, P]) soonest() (at time.Time) {
	for t, r := range s.deadlines.first {
		if r != nil && (at.IsZero() || r.times.on[t].at.Before(at)) {
			at = r.times.on[t].at
		}
	}
	return at
}

// expireOne tells r that its timer is over.
func (s *shard[S, M, P]) expireOne(r *resource[S, M, P], t peercore.Timer) {
	s.stop(r, t)
	s.step(r, peercore.Event[M]{Kind: peercore.Expire, Timer: t, Round: s.used()})
	s.tidy(r)
}

// expireLate ends a lease that is over although its timer has not gone off yet, as
// after a pause of the process: no answer that comes now may count.
func (s *shard[S, M, P]) expireLate(r *resource[S, M, P]) {
	if r.times == nil {
		return
	}
	if n := &r.times.on[peercore.Lease]; n.running && !n.at.After(s.locker.clock.Now()) {
		s.expireOne(r, peercore.Lease)
	}
}

// lose takes the resource from the first claim, whose lease is over.
func (s *shard[S, M, P]) lose(r *resource[S, M, P]) {
	c := r.first
	if c != nil && r.untold != 0 { // nobody believes in it, so somebody still wants it
		r.untold = 0
		s.step(r, peercore.Event[M]{Kind: peercore.Request})
		return
	}
	if c == nil || !r.held {
		return
	}
	c.end(lapsed)
	close(c.term.lost)
	r.held = false
	s.unlink(r, c)
	if r.first != nil {
		s.step(r, peercore.Event[M]{Kind: peercore.Request})
	}
	s.tidy(r)
}
