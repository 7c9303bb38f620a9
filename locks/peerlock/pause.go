package peerlock

import (
	"time"

	"locklab/locks/peerlock/peercore"
)

// pause arranges a Wake. The time is random within twice its mean, so that peers
// that ran into each other do not do so again.
func (s *shard[S, M, P]) pause(r *resource[S, M, P], attempt int) {
	const doublings = 6
	r.stopPause()
	mean := s.locker.protocol.Pause << min(attempt, doublings)
	number := r.pauses
	r.pause = s.locker.clock.AfterFunc(time.Duration(s.rand.Int64N(2*int64(mean)+1)), func() { s.wake(r, number) })
}

func (r *resource[S, M, P]) stopPause() {
	r.pauses++
	if r.pause != nil {
		r.pause.Stop()
		r.pause = nil
	}
}

// wake ends the pause of this number, unless it was replaced or r was forgotten.
func (s *shard[S, M, P]) wake(r *resource[S, M, P], number uint64) {
	<-s.locker.started
	s.mu.Lock()
	if !s.closed && r.pauses == number {
		s.step(r, peercore.Event[M]{Kind: peercore.Wake})
		s.tidy(r)
	}
	s.mu.Unlock()
	s.locker.flush()
}
