package sim

import (
	"time"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// startTimer starts a timer of the core, as package peerlock does.
func (s *simulator[S, M, P]) startTimer(i int, t peercore.Timer) {
	p, takes := &s.peers[i], s.shell.Lease.Takes(t)
	from := peerlock.CountsFrom(t, &p.asked, s.now)
	if takes == 0 {
		return
	}
	d := &p.timers[t]
	d.running = true
	d.stamp++
	d.from = from
	d.at = s.due(i, from, takes)
	s.push(max(d.at, s.now), slot[M]{op: opTimer, arg: int32(t), to: int16(i), epoch: s.procs[i].epoch, gen: d.stamp})
}

// expire tells the core that a timer is over.
func (s *simulator[S, M, P]) expire(i int, t peercore.Timer) {
	s.peers[i].timers[t].running = false
	if s.trace != nil {
		s.trace.note(s.now, i, t.String()+" is over")
	}
	s.step(i, peercore.Event[M]{Kind: peercore.Expire, Timer: t})
}

// expireLate ends a lease that is over although its timer has not gone off yet, as
// after a pause: the shell does so before it looks at anything else.
func (s *simulator[S, M, P]) expireLate(i int) {
	if d := &s.peers[i].timers[peercore.Lease]; d.running && d.at <= s.now {
		s.expire(i, peercore.Lease)
	}
}

// pause arranges a wake-up, like the shell: random within twice a mean that doubles up
// to six times.
func (s *simulator[S, M, P]) pause(i, attempt int) {
	const doublings = 6
	mean := int64(s.shell.Pause) << min(attempt, doublings)
	p := &s.peers[i]
	p.pauses++
	at := s.due(i, s.now, time.Duration(s.load.Int64N(2*mean+1)))
	s.push(at, slot[M]{op: opWake, to: int16(i), epoch: s.procs[i].epoch, gen: p.pauses})
}
