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

// step runs the core of a peer, and looks whether its client was told what the core believes.
func (r *run[S, M, P]) step(i int, ev peercore.Event[M]) {
	p := &r.peers[i]
	r.all.Step(i, &p.Peer, ev)
	told := r.all.Told(&p.Peer)
	if !told && !p.untold {
		r.violate(Finding{Kind: Untold, A: i, B: i})
	}
	p.untold = !told
	if p.lost { // only now: it runs the core again
		p.lost = false
		r.lose(i)
	}
}

// does carries out what the core of a peer asks for.
func (r *run[S, M, P]) does(i int, e *peercore.Effect[M], was peercore.Client) {
	p := &r.peers[i]
	switch e.Kind {
	case peercore.Send:
		if r.cfg.Trace != nil {
			r.trace("p%-3d -> %v  %v", i, e.To, e.Msg)
		}
		for to := range e.To.All() {
			r.send(i, to, e.Msg)
		}
	case peercore.Hold:
		if was == peercore.ClientWaits { // or its client did not ask for that
			r.granted(i, e.Token)
		}
	case peercore.Pause:
		r.pause(i, e.Attempt)
	case peercore.Start:
		r.startTimer(i, e.Timer)
	case peercore.Stop:
		p.timers[e.Timer].running = false
	case peercore.Lose:
		p.lost = p.lost || was == peercore.ClientHolds
	default: // there are no control states here; and the state itself remembers what is on disk
	}
}

// draw is a random time around the mean.
func (r *run[S, M, P]) draw(mean time.Duration) int64 {
	if mean <= 0 {
		return 0
	}
	return int64(r.load.ExpFloat64() * float64(mean))
}

// think arranges the next request of a client that has just finished.
func (r *run[S, M, P]) think(i int) {
	r.inLife(r.now+r.draw(r.cfg.Load.Think), i, func() { r.ask(i) })
}

// ask puts a claim into the queue of the peer.
func (r *run[S, M, P]) ask(i int) {
	p := &r.peers[i]
	if r.draining {
		return
	}
	r.claims++
	p.claims = append(p.claims, claim{number: r.claims, since: r.now})
	if r.cfg.Load.GiveUp > 0 {
		number := r.claims
		r.inLife(r.now+r.draw(r.cfg.Load.GiveUp), i, func() { r.giveUp(i, number) })
	}
	if len(p.claims) == 1 {
		r.request(i)
	}
}

// request has the core work for the first claim.
func (r *run[S, M, P]) request(i int) {
	p := &r.peers[i]
	p.waiting, p.waitsSince = true, r.now
	r.waiting++
	r.trace("p%-3d asks", i)
	r.step(i, peercore.Event[M]{Kind: peercore.Request})
}

// waitEnds notes that the core works for no claim that waits.
func (r *run[S, M, P]) waitEnds(p *peer[S, M]) {
	if p.waiting {
		p.waiting = false
		r.waiting--
	}
}

// granted is told that the core has the lock.
func (r *run[S, M, P]) granted(i int, token uint64) {
	p := &r.peers[i]
	r.waitEnds(p)
	if token == 0 {
		r.trace("p%-3d HOLDS", i)
	} else {
		r.trace("p%-3d HOLDS with token %d", i, token)
	}
	p.token, p.since, p.served = token, r.now, 1
	r.hold(i)
	r.serve(i)
}

// serve hands what is held to the first claim.
func (r *run[S, M, P]) serve(i int) {
	c := r.peers[i].claims[0]
	_ = r.res.Wait.RecordValue(min(r.now-c.since, int64(longestWait))) // it fits
	r.inLife(r.now+r.draw(r.cfg.Load.Hold), i, func() { r.release(i, c.number) })
}

// serves says that the peer holds for the claim.
func (p *peer[S, M]) serves(number int32) bool {
	return p.Holds() && len(p.claims) > 0 && p.claims[0].number == number
}

// release ends a hold, or passes it on to the next client of the same peer.
func (r *run[S, M, P]) release(i int, number int32) {
	p := &r.peers[i]
	if !p.serves(number) {
		return
	}
	if r.expireLate(i); !p.serves(number) {
		return
	}
	p.claims = slices.Delete(p.claims, 0, 1)
	r.think(i)
	if len(p.claims) > 0 && p.served < r.lock.Cohort.Size && r.now-p.since < int64(r.lock.Cohort.Time) {
		p.served++
		r.trace("p%-3d passes on to its next client", i)
		r.res.Grants++
		r.serve(i)
		return
	}
	r.endHold(i)
	r.trace("p%-3d releases", i)
	r.leave(i)
}

// leave takes the wish back from the core, and makes the next one.
func (r *run[S, M, P]) leave(i int) {
	r.step(i, peercore.Event[M]{Kind: peercore.Leave})
	if len(r.peers[i].claims) > 0 {
		r.request(i)
	}
}

// giveUp ends the wait of a claim, but not in the end: then all who wait must be served.
func (r *run[S, M, P]) giveUp(i int, number int32) {
	p := &r.peers[i]
	at := slices.IndexFunc(p.claims, func(c claim) bool { return c.number == number })
	if r.draining || at < 0 || (at == 0 && p.Holds()) {
		return
	}
	p.claims = slices.Delete(p.claims, at, at+1)
	r.think(i)
	if at > 0 {
		return
	}
	r.trace("p%-3d gives up", i)
	if r.lock.Cohort.Size == 0 || len(p.claims) == 0 { // else the core waits on, for the next one
		r.waitEnds(p)
		r.leave(i)
	}
}

// lose ends a hold whose lease is over. The core knows.
func (r *run[S, M, P]) lose(i int) {
	p := &r.peers[i]
	r.trace("p%-3d has lost the lease", i)
	p.claims = slices.Delete(p.claims, 0, 1)
	r.endHold(i)
	r.think(i)
	if len(p.claims) > 0 {
		r.request(i)
	}
}

// startTimer starts a timer of the core, as package peerlock does.
func (r *run[S, M, P]) startTimer(i int, t peercore.Timer) {
	p, takes := &r.peers[i], r.lock.Lease.Takes(t)
	from := peerlock.CountsFrom(t, &p.asked, r.now)
	if takes == 0 {
		return
	}
	d := &p.timers[t]
	d.running, d.from, d.at = true, from, r.cfg.due(i, from, takes)
	d.stamp++
	stamp := d.stamp
	r.inLife(max(d.at, r.now), i, func() {
		if d.running && d.stamp == stamp {
			r.expire(i, t)
		}
	})
}

// expire tells the core that a timer is over.
func (r *run[S, M, P]) expire(i int, t peercore.Timer) {
	r.peers[i].timers[t].running = false
	r.trace("p%-3d %v is over", i, t)
	r.step(i, peercore.Event[M]{Kind: peercore.Expire, Timer: t})
}

// expireLate ends a lease that is over although its timer has not gone off yet, as after a pause: the
// shell does so before it looks at anything else.
func (r *run[S, M, P]) expireLate(i int) {
	if d := &r.peers[i].timers[peercore.Lease]; d.running && d.at <= r.now {
		r.expire(i, peercore.Lease)
	}
}

// pause arranges a wake-up, like the shell: random within twice a mean that doubles up to six times.
func (r *run[S, M, P]) pause(i, attempt int) {
	const doublings = 6
	mean := int64(r.lock.Pause) << min(attempt, doublings)
	p := &r.peers[i]
	p.pauses++
	at := r.cfg.due(i, r.now, time.Duration(r.load.Int64N(2*mean+1)))
	number := p.pauses
	r.inLife(at, i, func() {
		if p.pauses == number {
			r.step(i, peercore.Event[M]{Kind: peercore.Wake})
		}
	})
}
