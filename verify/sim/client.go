package sim

import (
	"slices"
	"time"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// claim is one wish of a client.
type claim struct {
	number int32 // tells it from all others of a run
	since  int64
}

// draw is a random time around the mean.
func (s *simulator[S, M, P]) draw(mean time.Duration) int64 {
	if mean <= 0 {
		return 0
	}
	return int64(s.load.ExpFloat64() * float64(mean))
}

// think arranges the next request of a client that has just finished.
func (s *simulator[S, M, P]) think(i int) {
	s.push(s.now+s.draw(s.cfg.Load.Think), slot[M]{op: opAsk, to: int16(i), epoch: s.procs[i].epoch})
}

// ask puts a claim into the queue of the peer.
func (s *simulator[S, M, P]) ask(i int) {
	p := &s.peers[i]
	if s.draining || p.asksLeft == 0 {
		return
	}
	if !s.cfg.Load.Early && !P(&p.State).Bootstrapped() {
		p.early++
		return
	}
	if p.asksLeft > 0 {
		p.asksLeft--
	}
	s.claims++
	p.claims = append(p.claims, claim{number: s.claims, since: s.now})
	if s.cfg.Load.GiveUp > 0 {
		s.push(s.now+s.draw(s.cfg.Load.GiveUp), slot[M]{op: opGiveUp, to: int16(i), epoch: s.procs[i].epoch, arg: s.claims})
	}
	if len(p.claims) == 1 {
		s.request(i)
	}
}

// ready lets the clients ask that have waited for their peer to meet the others.
func (s *simulator[S, M, P]) ready(i int) {
	p := &s.peers[i]
	for ; p.early > 0; p.early-- {
		s.push(s.now, slot[M]{op: opAsk, to: int16(i), epoch: s.procs[i].epoch})
	}
}

// request has the core work for the first claim.
func (s *simulator[S, M, P]) request(i int) {
	p := &s.peers[i]
	p.waiting, p.waitsSince, p.grantsBefore = true, s.now, s.res.Grants
	s.checks.waiting++
	if s.trace != nil {
		s.trace.note(s.now, i, "asks")
	}
	s.step(i, peercore.Event[M]{Kind: peercore.Request})
}

// granted is told that the core has the lock.
func (s *simulator[S, M, P]) granted(i int, token uint64) {
	p := &s.peers[i]
	if p.waiting {
		p.waiting = false
		s.checks.waiting--
		r, others := &s.res.Ranks[i], s.res.Grants-p.grantsBefore
		r.Turns++
		r.Bypass += others
		r.MaxBypass = max(r.MaxBypass, others)
	}
	if s.trace != nil {
		s.trace.held(s.now, i, token)
	}
	p.token, p.since, p.served = token, s.now, 1
	s.hold(i)
	s.serve(i)
}

// serve hands what is held to the first claim.
func (s *simulator[S, M, P]) serve(i int) {
	p := &s.peers[i]
	c := p.claims[0]
	r, wait := &s.res.Ranks[i], time.Duration(s.now-c.since)
	r.Grants++
	r.Wait.Add(wait)
	s.res.Wait.Add(wait)
	s.push(s.now+s.draw(s.cfg.Load.Hold), slot[M]{op: opRelease, to: int16(i), epoch: s.procs[i].epoch, arg: c.number})
}

// serves says that the peer holds for the claim.
func (p *peer[S]) serves(number int32) bool {
	return p.Holds() && len(p.claims) > 0 && p.claims[0].number == number
}

// release ends a hold.
func (s *simulator[S, M, P]) release(i int, number int32) {
	p := &s.peers[i]
	if !p.serves(number) {
		return
	}
	if s.expireLate(i); !p.serves(number) {
		return
	}
	p.claims = slices.Delete(p.claims, 0, 1)
	s.think(i)
	if s.passOn(i) {
		return
	}
	s.endHold(i)
	if s.trace != nil {
		s.trace.note(s.now, i, "releases")
	}
	s.leave(i)
}

// leave takes the wish back from the core, and makes the next one.
func (s *simulator[S, M, P]) leave(i int) {
	s.step(i, peercore.Event[M]{Kind: peercore.Leave})
	if len(s.peers[i].claims) > 0 {
		s.request(i)
	}
}

// passOn lets the next client of the same peer have what is held.
func (s *simulator[S, M, P]) passOn(i int) bool {
	p := &s.peers[i]
	if len(p.claims) == 0 || p.served >= s.shell.Cohort.Size || s.now-p.since >= int64(s.shell.Cohort.Time) {
		return false
	}
	p.served++
	if s.trace != nil {
		s.trace.note(s.now, i, "passes on to its next client")
	}
	s.res.Grants++
	s.serve(i)
	return true
}

// giveUp ends the wait of a claim. In the end nobody does, so that everybody who waits
// must be served.
func (s *simulator[S, M, P]) giveUp(i int, number int32) {
	p := &s.peers[i]
	at := slices.IndexFunc(p.claims, func(c claim) bool { return c.number == number })
	if s.draining || at < 0 || (at == 0 && p.Holds()) {
		return
	}
	p.claims = slices.Delete(p.claims, at, at+1)
	s.res.Ranks[i].GiveUps++
	s.think(i)
	if at > 0 {
		return
	}
	if s.trace != nil {
		s.trace.note(s.now, i, "gives up")
	}
	if s.shell.Cohort.Size > 0 && len(p.claims) > 0 { // the core waits on, for the next one
		return
	}
	p.waiting = false
	s.checks.waiting--
	s.leave(i)
}

// lose ends a hold whose lease is over. The core knows.
func (s *simulator[S, M, P]) lose(i int) {
	p := &s.peers[i]
	if s.trace != nil {
		s.trace.note(s.now, i, "has lost the lease")
	}
	p.claims = slices.Delete(p.claims, 0, 1)
	s.res.Ranks[i].Lost++
	s.endHold(i)
	s.think(i)
	if len(p.claims) > 0 {
		s.request(i)
	}
}

// died ends everything that a process did.
func (s *simulator[S, M, P]) died(i int) {
	p := &s.peers[i]
	if p.Holds() {
		s.endHold(i)
	}
	p.Client, p.untold = peercore.ClientIdle, false
	if p.waiting {
		p.waiting = false
		s.checks.waiting--
	}
	p.claims = nil
	p.timers, p.early = [peercore.Timers]deadline{}, 0
	s.forget(i)
}

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
