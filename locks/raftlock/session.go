package raftlock

import (
	"maps"
	"slices"
	"time"

	"locklab/locks/raftlock/fsm"
	"locklab/locks/raftlock/wire"
)

// session is the client's side of one session. The Locker's mutex guards it.
type session struct {
	id    uint64        // 0 until the service has opened it
	lease time.Duration // as the service granted it
	// until is up to when the service surely keeps the session, counted from when
	// what was answered had been sent.
	until time.Time

	next     uint64            // the number of the next request that is sent
	requests []*request        // sent and not answered, or after one that is not; ascending without gaps
	sent     int               // how many of them the current stream has been given
	unsent   []*request        // never given to any stream, so without a number
	claims   map[uint64]*claim // by the number of their acquire
	late     []*claim          // granted while the session was not surely alive

	renewal   uint64    // the number of the last renewal
	renewalAt time.Time // when it was sent; zero when it was answered
}

func newSession() *session { return &session{next: 1, claims: map[uint64]*claim{}} }

// request is a request until it is answered. It gets its number when it is first sent.
type request struct {
	message  *wire.Request
	claim    *claim    // of an acquire
	sentAt   time.Time // first sent; zero before
	answered chan struct{}
	outcome  wire.Outcome // "" until answered
}

func (s *session) acquire(c *claim) {
	c.request = s.ask(&wire.Request{Kind: wire.Acquire, Resource: c.resource}, nil)
	c.request.claim = c
}

// release asks the service to end a claim, ours or one that we do not know.
func (s *session) release(seq uint64) *request {
	if c := s.claims[seq]; c != nil {
		c.ending = true
	}
	return s.ask(&wire.Request{Kind: wire.Release, Claim: seq}, make(chan struct{}))
}

func (s *session) ask(message *wire.Request, answered chan struct{}) *request {
	r := &request{message: message, answered: answered}
	s.unsent = append(s.unsent, r)
	return r
}

// settle marks a request as answered.
func (r *request) settle(outcome wire.Outcome) {
	if r.outcome == "" {
		r.outcome = outcome
		if r.answered != nil {
			close(r.answered)
		}
	}
}

// floor is the smallest number that is not answered.
func (s *session) floor() uint64 {
	if len(s.requests) == 0 {
		return s.next
	}
	return s.requests[0].message.Seq
}

// find returns the unanswered request with the number, or nil.
func (s *session) find(seq uint64) *request {
	i := seq - s.floor()
	if seq < s.floor() || i >= uint64(len(s.requests)) || s.requests[i].outcome != "" {
		return nil
	}
	return s.requests[i]
}

// trim drops the answered requests at the front, which raises the floor.
func (s *session) trim() {
	n := 0
	for n < len(s.requests) && s.requests[n].outcome != "" {
		s.requests[n] = nil
		n++
	}
	s.requests = s.requests[n:]
	s.sent = max(0, s.sent-n)
	if len(s.requests) == 0 {
		s.requests = nil
	}
}

// forgetUnsent takes a claim back whose request never left. It says whether it
// could.
func (s *session) forgetUnsent(c *claim) bool {
	i := slices.Index(s.unsent, c.request)
	if i < 0 {
		return false
	}
	s.unsent = slices.Delete(s.unsent, i, i+1)
	return true
}

// toSend takes the requests that the stream has not been given yet.
func (s *session) toSend(now time.Time) []wire.Request {
	var messages []wire.Request
	for ; s.sent < len(s.requests); s.sent++ {
		if r := s.requests[s.sent]; r.outcome == "" { // not answered over an earlier stream
			messages = append(messages, *r.message)
		}
	}
	for len(s.unsent) > 0 && s.next < s.floor()+fsm.Window {
		r := s.unsent[0]
		s.unsent[0] = nil
		if s.unsent = s.unsent[1:]; len(s.unsent) == 0 {
			s.unsent = nil
		}
		r.message.Seq, r.sentAt = s.next, now
		if r.claim != nil {
			r.claim.seq = s.next
			s.claims[s.next] = r.claim
		}
		s.next++
		s.requests = append(s.requests, r)
		s.sent++
		messages = append(messages, *r.message)
	}
	return messages
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

// inOrder lists the claims in the order in which they were made.
func (s *session) inOrder() []*claim {
	var claims []*claim
	for _, seq := range slices.Sorted(maps.Keys(s.claims)) {
		claims = append(claims, s.claims[seq])
	}
	for _, r := range s.unsent {
		if r.claim != nil {
			claims = append(claims, r.claim)
		}
	}
	return claims
}

// settleReleases answers all releases at once: those that were sent, and those that never were.
func (s *session) settleReleases(sent, unsent wire.Outcome) {
	for _, r := range s.requests {
		if r.message.Kind == wire.Release {
			r.settle(sent)
		}
	}
	for _, r := range s.unsent {
		if r.message.Kind == wire.Release {
			r.settle(unsent)
		}
	}
}

// abort ends everything at the client. confirmed says that the service has ended
// the session.
func (s *session) abort(why error, confirmed bool) {
	for _, c := range s.inOrder() {
		c.fail(why)
		c.lose()
	}
	if confirmed {
		s.settleReleases(wire.Released, wire.Released)
	}
}

// succeed moves what is to go on into a new session, because this one has ended at
// the service: held claims are lost, waiting ones wait again. A release that never left
// came too late; one that was sent may be what freed the resource.
func (s *session) succeed() *session {
	next := newSession()
	s.settleReleases(wire.NoSession, wire.NotHeld)
	for _, c := range s.inOrder() {
		c.lose()
		if !c.isDecided() && !c.abandoned {
			c.seq, c.token = 0, 0
			next.acquire(c)
		}
	}
	return next
}
