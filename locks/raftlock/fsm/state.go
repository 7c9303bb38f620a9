package fsm

import (
	"cmp"
	"slices"
	"time"
)

// State is the whole state of the lock service. It is not safe for concurrent use.
type State struct {
	index       uint64 // of the last entry applied
	lastSession uint64
	sessions    map[uint64]*session
	resources   map[string]*resource

	// Scratch of the entry that is being applied.
	outputs []Output
	late    []lateAnswer
	changed []*resource
}

// New is the state before the first entry.
func New() *State {
	return &State{sessions: map[uint64]*session{}, resources: map[string]*resource{}}
}

type session struct {
	id      uint64
	client  string
	lease   time.Duration
	floor   uint64            // every number below has been answered, and the client knows
	touched uint64            // index of the last command of this session
	answers map[uint64]answer // by number, at or above the floor
	claims  map[uint64]*claim // by number
}

// answer is what a repeated request is answered with. Acquires are answered from
// the claim while it lives.
type answer struct {
	kind    Kind
	outcome Outcome
}

type claim struct {
	session    *session
	seq        uint64
	resource   *resource // nil once the claim has ended
	token      uint64    // 0 while it waits
	asked      bool      // an acquire of this entry will be answered with its fate
	prev, next *claim    // in the queue, while it waits
}

type resource struct {
	name       string
	holder     *claim
	head, tail *claim // the queue, first come first served
	changed    bool   // listed in State.changed
}

// lateAnswer is the answer to an acquire, which is known at the end of the entry.
type lateAnswer struct {
	output int
	claim  *claim
}

// Apply applies the entry with the given log index, which must be above every
// index applied before. The outputs are valid until the next call.
func (s *State) Apply(index uint64, commands []Command) []Output {
	s.index = index
	s.outputs, s.late = s.outputs[:0], s.late[:0]
	for i := range commands {
		s.apply(i, &commands[i])
	}
	s.grant()
	for _, l := range s.late {
		l.claim.asked = false
		out := &s.outputs[l.output]
		switch {
		case l.claim.resource == nil:
			out.Outcome = Ended
		case l.claim.token != 0:
			out.Outcome, out.Token, out.Resource = Granted, l.claim.token, l.claim.resource.name
		default:
			out.Outcome = Queued
		}
	}
	return s.outputs
}

func (s *State) apply(i int, c *Command) {
	out := Output{Command: i, Session: c.Session, Seq: c.Seq}
	if c.Kind == KindOpen {
		out.Session, out.Outcome = s.open(c)
		s.outputs = append(s.outputs, out)
		return
	}
	sess := s.sessions[c.Session]
	if sess == nil {
		out.Outcome = NoSession
		s.outputs = append(s.outputs, out)
		return
	}
	switch c.Kind {
	case KindRenew:
		sess.touched = s.index
		out.Outcome = Renewed
	case KindAcquire:
		var cl *claim
		if cl, out.Outcome = s.acquire(sess, c); cl != nil {
			cl.asked = true
			s.late = append(s.late, lateAnswer{len(s.outputs), cl})
		}
	case KindRelease:
		out.Outcome = s.release(sess, c)
	case KindClose:
		s.end(sess)
		out.Outcome = Closed
	case KindExpire:
		if sess.touched > c.Seen {
			return // renewed since the leader looked
		}
		s.end(sess)
		out.Outcome = Expired
	default:
		out.Outcome = Refused
	}
	s.outputs = append(s.outputs, out)
}

func (s *State) open(c *Command) (uint64, Outcome) {
	if c.Lease < time.Millisecond || c.Lease > MaxLease || len(c.Client) > MaxName {
		return 0, Refused
	}
	s.lastSession++
	s.sessions[s.lastSession] = &session{
		id: s.lastSession, client: c.Client, lease: c.Lease, floor: 1, touched: s.index,
		answers: map[uint64]answer{}, claims: map[uint64]*claim{},
	}
	return s.lastSession, Opened
}

// admit checks a numbered request. known says that it was answered before, with
// the answer that was given; outcome is set if the request must not be done.
func (s *State) admit(sess *session, c *Command) (before answer, known bool, outcome Outcome) {
	sess.touched = s.index
	if c.Floor > c.Seq || c.Seq == 0 {
		return answer{}, false, Refused
	}
	sess.raiseFloor(c.Floor)
	if c.Seq < sess.floor {
		return answer{}, false, Stale
	}
	if c.Seq-sess.floor >= Window {
		return answer{}, false, Refused
	}
	before, known = sess.answers[c.Seq]
	if known && before.kind != c.Kind {
		return answer{}, false, Refused
	}
	return before, known, 0
}

func (sess *session) raiseFloor(floor uint64) {
	if floor <= sess.floor {
		return
	}
	if floor-sess.floor <= uint64(len(sess.answers)) {
		for seq := sess.floor; seq < floor; seq++ {
			delete(sess.answers, seq)
		}
	} else {
		for seq := range sess.answers {
			if seq < floor {
				delete(sess.answers, seq)
			}
		}
	}
	sess.floor = floor
}

// acquire returns the claim whose fate at the end of the entry is the answer, or
// the answer itself.
func (s *State) acquire(sess *session, c *Command) (*claim, Outcome) {
	_, known, outcome := s.admit(sess, c)
	if outcome != 0 {
		return nil, outcome
	}
	if known {
		if cl := sess.claims[c.Seq]; cl != nil {
			return cl, 0
		}
		return nil, Ended
	}
	if c.Resource == "" || len(c.Resource) > MaxName || len(sess.claims) >= MaxClaims {
		return nil, Refused
	}
	res := s.resources[c.Resource]
	if res == nil {
		res = &resource{name: c.Resource}
		s.resources[c.Resource] = res
	}
	cl := &claim{session: sess, seq: c.Seq, resource: res}
	res.push(cl)
	s.change(res)
	sess.claims[c.Seq] = cl
	sess.answers[c.Seq] = answer{kind: KindAcquire}
	return cl, 0
}

func (s *State) release(sess *session, c *Command) Outcome {
	before, known, outcome := s.admit(sess, c)
	if outcome != 0 {
		return outcome
	}
	if known {
		return before.outcome
	}
	cl := sess.claims[c.Claim]
	switch {
	case cl != nil && cl.token != 0:
		outcome = Released
		s.remove(cl)
	case cl != nil:
		outcome = Withdrawn
		s.remove(cl)
	case c.Claim >= sess.floor && !sess.answered(c.Claim) && c.Claim-sess.floor < Window:
		// The acquire has not arrived. Should it still do so, it finds itself ended.
		sess.answers[c.Claim] = answer{kind: KindAcquire}
		outcome = Withdrawn
	default:
		outcome = NotHeld
	}
	sess.answers[c.Seq] = answer{KindRelease, outcome}
	return outcome
}

func (sess *session) answered(seq uint64) bool {
	_, ok := sess.answers[seq]
	return ok
}

// end takes the session out with all its claims.
func (s *State) end(sess *session) {
	for _, seq := range sortedKeys(sess.claims) {
		s.remove(sess.claims[seq])
	}
	delete(s.sessions, sess.id)
}

// remove ends a claim, held or waiting.
func (s *State) remove(cl *claim) {
	res := cl.resource
	if res.holder == cl {
		res.holder = nil
	} else {
		res.unlink(cl)
	}
	s.change(res)
	cl.resource = nil
	delete(cl.session.claims, cl.seq)
}

// change lists the resource for the grants at the end of the entry.
func (s *State) change(res *resource) {
	if !res.changed {
		res.changed = true
		s.changed = append(s.changed, res)
	}
}

// grant gives every free resource to the head of its queue and forgets the
// resources that nobody wants.
func (s *State) grant() {
	for _, res := range s.changed {
		res.changed = false
		switch {
		case res.holder != nil:
		case res.head != nil:
			cl := res.head
			res.unlink(cl)
			res.holder, cl.token = cl, s.index
			if !cl.asked {
				s.outputs = append(s.outputs, Output{
					Command: Pushed, Session: cl.session.id, Seq: cl.seq,
					Outcome: Granted, Token: cl.token, Resource: res.name,
				})
			}
		default:
			delete(s.resources, res.name)
		}
	}
	clear(s.changed)
	s.changed = s.changed[:0]
}

func (r *resource) push(cl *claim) {
	cl.prev = r.tail
	if r.tail == nil {
		r.head = cl
	} else {
		r.tail.next = cl
	}
	r.tail = cl
}

func (r *resource) unlink(cl *claim) {
	if cl.prev == nil {
		r.head = cl.next
	} else {
		cl.prev.next = cl.next
	}
	if cl.next == nil {
		r.tail = cl.prev
	} else {
		cl.next.prev = cl.prev
	}
	cl.prev, cl.next = nil, nil
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
