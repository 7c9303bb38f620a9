package sim

import (
	"slices"
	"time"

	"locklab/locks/peerlock/peercore"
)

// start starts a timer of the core, as package peerlock does: a lease counts from the
// last time that Renew was started.
func (s *simulator[S, M, P]) start(i int, t peercore.Timer) {
	p, lease := &s.peers[i], s.shell.Lease
	from, takes := s.now, lease.TTL+lease.Margin
	switch t {
	case peercore.Lease:
		from, takes = p.asked, lease.TTL
	case peercore.Renew:
		p.asked, takes = s.now, lease.Renew
		if takes == 0 { // never
			return
		}
	default: // Vote, Recovery
	}
	d := &p.timers[t]
	d.running = true
	d.stamp++
	d.from = from
	d.at = s.due(i, from, takes)
	s.push(max(d.at, s.now), slot[M]{op: opTimer, timer: t, to: int16(i), epoch: p.epoch, gen: d.stamp})
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
	s.push(at, slot[M]{op: opWake, to: int16(i), epoch: p.epoch, gen: p.pauses})
}

// due is when d has passed on the clock of a peer since the given moment.
func (s *simulator[S, M, P]) due(i int, from int64, d time.Duration) int64 {
	if !s.peers[i].drifts {
		return from + int64(d)
	}
	at, left := from, float64(d)
	for {
		rate, next, jump := s.clockAt(i, at)
		passes := float64(next-at) * rate
		if next < 0 || passes >= left {
			return at + int64(left/rate)
		}
		left -= passes
		at = next
		if left -= float64(jump); left <= 0 {
			return at
		}
	}
}

// clockAt is how fast the clock of a peer runs, until when (-1: for good), and how far
// it jumps then.
func (s *simulator[S, M, P]) clockAt(i int, at int64) (rate float64, next int64, jump time.Duration) {
	rate, next = 1, -1
	for _, f := range s.cfg.Faults {
		if f.Kind != Drift || !slices.Contains(f.A, i) {
			continue
		}
		from, until := int64(f.From), int64(min(f.Until, s.cfg.Duration))
		if from <= at && at < until {
			rate *= f.Rate
		}
		for _, edge := range [...]int64{from, until} {
			if edge > at && (next < 0 || edge < next) {
				next, jump = edge, 0
			}
		}
		if from == next {
			jump += f.Step
		}
	}
	return rate, next, jump
}
