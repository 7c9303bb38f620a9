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
	// until is up to when the service surely keeps the session, counted from when
	// what was answered had been sent.
	until time.Time

	next     uint64            // the number of the next request
	requests []*request        // not answered, in ascending order
	sent     int               // how many of them the current stream has been given
	claims   map[uint64]*claim // by the number of their acquire
	renewing bool              // a renewal is among the requests
}

// request is a request until it is answered.
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

// renew asks for a renewal, unless one is on its way, if a third of the lease has
// passed since anything that was answered was sent.
func (s *session) renew(now time.Time) (asked bool) {
	asked = !s.renewing && now.After(s.until.Add(-s.lease*2/3))
	if asked {
		s.renewing = true
		s.ask(&wire.Request{Kind: wire.Renew})
	}
	return asked
}

// forgetUnsent takes a claim back whose request never left. It says whether it could.
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

// frame has the requests that the stream has not been given yet.
func (s *session) frame(now time.Time) wire.ClientFrame {
	frame := wire.ClientFrame{Floor: s.next} // the smallest number that is not answered
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

// answer takes an answer, and returns the claim that it grants, if it does.
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

// extend moves the session's end, when something sent at that moment was answered.
func (s *session) extend(sentAt time.Time) {
	if until := sentAt.Add(s.lease); until.After(s.until) {
		s.until = until
	}
}

// margin is how much earlier than the service the client gives up: clocks may run
// at different speeds, and closing Lost takes time to be noticed.
func (s *session) margin() time.Duration { return s.lease/20 + 5*time.Millisecond }

// end is when the client gives the session's leases up, if it is not renewed before.
func (s *session) end() time.Time { return s.until.Add(-s.margin()) }

// alive says that the service surely keeps the session.
func (s *session) alive(now time.Time) bool { return now.Before(s.end()) }

// abort ends everything at the client. confirmed says that the service has ended
// the session.
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

// settle answers all requests at once: those that were sent, and those that never were.
func (s *session) settle(sent, unsent wire.Outcome) {
	for _, r := range s.requests {
		if r.outcome = sent; r.sentAt.IsZero() {
			r.outcome = unsent
		}
		close(r.answered)
	}
	s.requests = nil
}

// succeed moves what is to go on into a new session, because this one has ended at
// the service: held claims are lost, waiting ones wait again. A release that never left
// came too late; one that was sent may be what freed the resource.
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
