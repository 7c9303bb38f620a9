package raftlock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"locklab/locks"
	"locklab/locks/raftlock/wire"
)

// session is the client's side of one session. The Locker's mutex guards it.
type session struct {
	lease time.Duration
	id    uint64 // 0 until the service has opened it
	// until is the moment up to which the service surely keeps the session, counted from
	// when the last answered request was sent.
	until time.Time

	next     uint64            // the number of the next request
	requests []*request        // unanswered, in ascending order
	sent     int               // how many of them the current stream has sent
	claims   map[uint64]*claim // by the number of their acquire
	renewing bool              // a renewal is among the requests
}

// request is a request, until it is answered.
type request struct {
	message  *wire.Request
	sentAt   time.Time // first sent; zero before
	answered chan struct{}
	outcome  wire.Outcome // "" until answered
}

func newSession(lease time.Duration) *session {
	return &session{lease: lease, next: 1, claims: map[uint64]*claim{}}
}

func (s *session) ask(message *wire.Request) *request {
	message.Seq = s.next
	s.next++
	r := &request{message: message, answered: make(chan struct{})}
	s.requests = append(s.requests, r)
	return r
}

func (s *session) acquire(c *claim) {
	c.seq = s.ask(&wire.Request{Kind: wire.Acquire, Resource: c.resource}).message.Seq
	s.claims[c.seq] = c
}

func (s *session) release(seq uint64) *request {
	s.claims[seq].ending = true
	return s.ask(&wire.Request{Kind: wire.Release, Claim: seq})
}

// renew requests a renewal, unless one is pending, if the last answered request was sent
// more than a third of the lease ago.
func (s *session) renew(now time.Time) (asked bool) {
	asked = !s.renewing && now.After(s.until.Add(-s.lease*2/3))
	if asked {
		s.renewing = true
		s.ask(&wire.Request{Kind: wire.Renew})
	}
	return asked
}

// forgetUnsent drops a claim whose request was never sent. It reports whether it did.
func (s *session) forgetUnsent(c *claim) bool {
	i, waits := s.find(c.seq)
	if !waits || !s.requests[i].sentAt.IsZero() {
		return false
	}
	s.requests = slices.Delete(s.requests, i, i+1)
	delete(s.claims, c.seq)
	return true
}

func (s *session) find(seq uint64) (at int, waits bool) {
	return slices.BinarySearchFunc(s.requests, seq, func(r *request, seq uint64) int {
		return cmp.Compare(r.message.Seq, seq)
	})
}

// frame returns the requests that the stream has not sent yet.
func (s *session) frame(now time.Time) wire.ClientFrame {
	frame := wire.ClientFrame{Floor: s.next} // the smallest unanswered number
	if len(s.requests) > 0 {
		frame.Floor = s.requests[0].message.Seq
	}
	for _, r := range s.requests[s.sent:] {
		if r.sentAt.IsZero() {
			r.sentAt = now
		}
		frame.Requests = append(frame.Requests, *r.message)
	}
	s.sent = len(s.requests)
	return frame
}

// answer handles an answer, and returns the claim that it grants, or nil.
func (s *session) answer(a wire.Answer) *claim {
	if i, waits := s.find(a.Seq); waits {
		r := s.requests[i]
		s.requests = slices.Delete(s.requests, i, i+1)
		s.sent = max(s.sent-1, 0)
		s.extend(r.sentAt)
		r.outcome = a.Outcome
		close(r.answered)
		switch r.message.Kind {
		case wire.Renew:
			s.renewing = false
		case wire.Release:
			delete(s.claims, r.message.Claim)
		default:
		}
	}
	if c := s.claims[a.Seq]; a.Outcome == wire.Granted && c != nil && c.token == 0 && !c.ending {
		return c
	}
	return nil
}

// extend moves the session's end after the answer to a request that was sent at sentAt.
func (s *session) extend(sentAt time.Time) {
	if until := sentAt.Add(s.lease); until.After(s.until) {
		s.until = until
	}
}

// margin is how much earlier than the service the client gives up. It allows for clock drift,
// and for the time in which a holder notices that Lost is closed.
func (s *session) margin() time.Duration { return s.lease/20 + 5*time.Millisecond }

// end is the moment at which the client gives up the session's leases, unless it renews before.
func (s *session) end() time.Time { return s.until.Add(-s.margin()) }

// alive reports whether the service surely keeps the session.
func (s *session) alive(now time.Time) bool { return now.Before(s.end()) }

// abort ends all claims at the client. confirmed says that the service has ended the session.
func (s *session) abort(confirmed bool) {
	why, released := locks.ErrUnknown, wire.Outcome("")
	if confirmed {
		why, released = locks.ErrNotAcquired, wire.Released
	}
	s.settle(released, released)
	for _, c := range s.claims {
		c.fail(fmt.Errorf("%w: %w", why, locks.ErrClosed))
		c.lose()
	}
}

// settle gives all requests an outcome: one for those that were sent, another for the others.
func (s *session) settle(sent, unsent wire.Outcome) {
	for _, r := range s.requests {
		if r.outcome = sent; r.sentAt.IsZero() {
			r.outcome = unsent
		}
		close(r.answered)
	}
	s.requests = nil
}

// succeed makes the next session after the service has ended this one: held claims are lost,
// and waiting ones move on. An unsent release came too late (NotHeld); a sent one may have freed
// the resource, so it is unknown.
func (s *session) succeed() *session {
	next := newSession(s.lease)
	s.settle(wire.NoSession, wire.NotHeld)
	for _, seq := range slices.Sorted(maps.Keys(s.claims)) {
		c := s.claims[seq]
		c.lose()
		if !c.isDecided() && !c.ending {
			next.acquire(c)
		}
	}
	return next
}
