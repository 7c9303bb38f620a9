package fsm

import (
	"container/list"
	"maps"
	"slices"
	"time"

	"locklab/locks/raftlock/wire"
)

// The limits of the state machine, the same on every server.
const (
	// Window is how far above its floor a session may number its requests.
	Window = 1 << 16
	// MaxClaims is how many claims, held and waiting, a session may have.
	MaxClaims = 1 << 17
	// MaxName bounds the bytes of a resource's and a client's name.
	MaxName = 1024
	// leaseMost bounds the lease that a session may ask for, in milliseconds: an hour.
	leaseMost = 3_600_000
)

// Output is something that a client should hear: the answer to a request of the
// entry, or a grant to a claim of an earlier one.
type Output struct {
	Request  int // position in the entry, or Pushed
	Session  uint64
	Seq      uint64 // the request's; for a pushed grant, the claim's
	Outcome  wire.Outcome
	Token    uint64 // GRANTED: the index of the log entry that granted it
	Resource string // GRANTED
}

// Pushed is the Request of an output that answers no request of its entry.
const Pushed = -1

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
	claims  map[uint64]*claim // by number
	// answers are what repeated requests are answered with, by number, at or above the
	// floor: the outcome of a release, "" for an acquire, which is
	// answered from its claim.
	answers map[uint64]wire.Outcome
}

type claim struct {
	session  *session
	seq      uint64
	resource *resource     // nil once the claim has ended
	token    uint64        // 0 while it waits
	asked    bool          // an acquire of this entry will be answered with its fate
	place    *list.Element // in the queue, while it waits
}

type resource struct {
	name    string
	holder  *claim
	queue   list.List // of *claim, first come first served
	changed bool      // listed in State.changed
}

// lateAnswer is the answer to an acquire, which is known at the end of the entry.
type lateAnswer struct {
	output int
	claim  *claim
}

// Apply applies the entry with the given log index, which must be above every
// index applied before. The outputs are valid until the next call.
func (s *State) Apply(index uint64, requests []wire.Request) []Output {
	s.index = index
	s.outputs, s.late = s.outputs[:0], s.late[:0]
	for i := range requests {
		s.apply(i, &requests[i])
	}
	s.grant()
	for _, l := range s.late {
		l.claim.asked = false
		out := &s.outputs[l.output]
		switch {
		case l.claim.resource == nil:
			out.Outcome = wire.Ended
		case l.claim.token != 0:
			out.Outcome, out.Token, out.Resource = wire.Granted, l.claim.token, l.claim.resource.name
		default:
			out.Outcome = wire.Queued
		}
	}
	return s.outputs
}

func (s *State) apply(i int, r *wire.Request) {
	out := Output{Request: i, Session: r.Session, Seq: r.Seq}
	if r.Kind == wire.Open {
		out.Session, out.Outcome = s.open(r)
		s.outputs = append(s.outputs, out)
		return
	}
	sess := s.sessions[r.Session]
	if sess == nil {
		out.Outcome = wire.NoSession
		s.outputs = append(s.outputs, out)
		return
	}
	switch r.Kind {
	case wire.Renew:
		sess.touched = s.index
		out.Outcome = wire.Renewed
	case wire.Acquire:
		var cl *claim
		if cl, out.Outcome = s.acquire(sess, r); cl != nil {
			cl.asked = true
			s.late = append(s.late, lateAnswer{len(s.outputs), cl})
		}
	case wire.Release:
		out.Outcome = s.release(sess, r)
	case wire.Close:
		s.end(sess)
		out.Outcome = wire.Closed
	case wire.Expire:
		if sess.touched > r.Seen {
			return // renewed since the leader looked
		}
		s.end(sess)
		out.Outcome = wire.Expired
	default:
		out.Outcome = wire.Refused
	}
	s.outputs = append(s.outputs, out)
}

func (s *State) open(r *wire.Request) (uint64, wire.Outcome) {
	if r.LeaseMS == 0 || r.LeaseMS > leaseMost || len(r.Client) > MaxName {
		return 0, wire.Refused
	}
	s.lastSession++
	s.sessions[s.lastSession] = &session{
		id: s.lastSession, client: r.Client, lease: time.Duration(r.LeaseMS) * time.Millisecond, //nolint:gosec // bounded above
		floor: 1, touched: s.index,
		answers: map[uint64]wire.Outcome{}, claims: map[uint64]*claim{},
	}
	return s.lastSession, wire.Opened
}

// admit checks a numbered request. known says that it was answered before, with
// the answer that was given; outcome is set if the request must not be done.
func (s *State) admit(sess *session, r *wire.Request) (before wire.Outcome, known bool, outcome wire.Outcome) {
	sess.touched = s.index
	if r.Floor > r.Seq || r.Seq == 0 {
		return "", false, wire.Refused
	}
	sess.raiseFloor(r.Floor)
	if r.Seq < sess.floor {
		return "", false, wire.Stale
	}
	if r.Seq-sess.floor >= Window {
		return "", false, wire.Refused
	}
	before, known = sess.answers[r.Seq]
	if known && (before == "") != (r.Kind == wire.Acquire) {
		return "", false, wire.Refused
	}
	return before, known, ""
}

func (sess *session) raiseFloor(floor uint64) {
	if floor <= sess.floor {
		return
	}
	maps.DeleteFunc(sess.answers, func(seq uint64, _ wire.Outcome) bool { return seq < floor })
	sess.floor = floor
}

// acquire returns the claim whose fate at the end of the entry is the answer, or
// the answer itself.
func (s *State) acquire(sess *session, r *wire.Request) (*claim, wire.Outcome) {
	_, known, outcome := s.admit(sess, r)
	if outcome != "" {
		return nil, outcome
	}
	if known {
		if cl := sess.claims[r.Seq]; cl != nil {
			return cl, ""
		}
		return nil, wire.Ended
	}
	if r.Resource == "" || len(r.Resource) > MaxName || len(sess.claims) >= MaxClaims {
		return nil, wire.Refused
	}
	res := s.resources[r.Resource]
	if res == nil {
		res = &resource{name: r.Resource}
		s.resources[r.Resource] = res
	}
	cl := &claim{session: sess, seq: r.Seq, resource: res}
	res.push(cl)
	s.change(res)
	sess.claims[r.Seq] = cl
	sess.answers[r.Seq] = ""
	return cl, ""
}

func (s *State) release(sess *session, r *wire.Request) wire.Outcome {
	before, known, outcome := s.admit(sess, r)
	if outcome != "" {
		return outcome
	}
	if known {
		return before
	}
	cl := sess.claims[r.Claim]
	switch {
	case cl != nil && cl.token != 0:
		outcome = wire.Released
		s.remove(cl)
	case cl != nil:
		outcome = wire.Withdrawn
		s.remove(cl)
	case r.Claim >= sess.floor && !sess.answered(r.Claim) && r.Claim-sess.floor < Window:
		// The acquire has not arrived. Should it still do so, it finds itself ended.
		sess.answers[r.Claim] = ""
		outcome = wire.Withdrawn
	default:
		outcome = wire.NotHeld
	}
	sess.answers[r.Seq] = outcome
	return outcome
}

func (sess *session) answered(seq uint64) bool {
	_, ok := sess.answers[seq]
	return ok
}

// end takes the session out with all its claims.
func (s *State) end(sess *session) {
	for _, seq := range slices.Sorted(maps.Keys(sess.claims)) {
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
		res.queue.Remove(cl.place)
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
		case res.queue.Len() > 0:
			cl := res.queue.Remove(res.queue.Front()).(*claim)
			res.holder, cl.token = cl, s.index
			if !cl.asked {
				s.outputs = append(s.outputs, Output{
					Request: Pushed, Session: cl.session.id, Seq: cl.seq,
					Outcome: wire.Granted, Token: cl.token, Resource: res.name,
				})
			}
		default:
			delete(s.resources, res.name)
		}
	}
	clear(s.changed)
	s.changed = s.changed[:0]
}

func (r *resource) push(cl *claim) { cl.place = r.queue.PushBack(cl) }
