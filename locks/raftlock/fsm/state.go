// Package fsm is the lock service's state machine: a pure function from the
// committed log to the holders and queues. It has no goroutine, clock or socket, and
// the same entries in the same order give the same state on every server.
//
//	entry i ──> commands, in order:   acquire  appends a claim to the resource's queue
//	                                  release  removes a claim, held or waiting
//	                                  expire   removes all claims of a session
//	        └─> at the end of the entry: every free resource with a queue
//	            is granted to the head of the queue, with fencing token i
//
// Many commands share an entry. A resource is granted at most once per entry, at its end, so the
// log index can be the fencing token: no two grants of a resource have the same.
//
// Retries are harmless. A client numbers the requests of its session, and sends with each its floor:
// it has the answers to all lower numbers. The service remembers its answers from the floor on, and
// repeats them; it ignores requests below the floor. This is the scheme of D. Ongaro, "Consensus:
// Bridging Theory and Practice", section 6.3, with a floor so that a client may have many requests
// in flight.
package fsm

import (
	"maps"
	"slices"
	"time"

	"locklab/locks/raftlock/wire"
)

// State is the whole state of the lock service. Its JSON is a snapshot. It is not safe for
// concurrent use.
type State struct {
	LastSession uint64               `json:"last_session"`
	Sessions    map[uint64]*Session  `json:"sessions"`
	Resources   map[string]*Resource `json:"resources"` // those that are held

	// Of the entry that is being applied.
	index   uint64
	outputs []Output
	changed []string // resources
}

// Session is a client's session.
type Session struct {
	Client  string        `json:"client"`
	Lease   time.Duration `json:"lease,format:units"`
	Floor   uint64        `json:"floor"`   // the client has the answers to all lower numbers
	Touched uint64        `json:"touched"` // index of the last command of this session
	// Answers are the answers to repeated requests, by number, from the floor on: the outcome
	// of a release, or "" for an acquire, which is answered from its claim.
	Answers map[uint64]wire.Outcome `json:"answers"`
	Claims  map[uint64]string       `json:"claims"` // the resource of each, by number
}

// Resource is a resource that has claims.
type Resource struct {
	Token uint64  `json:"token"` // the holder's; 0 for the rest of an entry in which it was freed
	Queue []Claim `json:"queue"` // in order of arrival; the first one holds
}

// Claim identifies a claim.
type Claim struct {
	Session uint64 `json:"session"`
	Seq     uint64 `json:"seq"` // of the acquire that made it
}

// Output is an answer for a client: to a request of the entry, or a grant to a claim
// of an earlier one.
type Output struct {
	wire.Answer // Seq is that of the request; in a pushed grant, of the claim

	Session  uint64
	Pushed   bool   // it answers no request of the entry
	Resource string // set in a grant
}

// New returns the state before the first entry.
func New() *State {
	return &State{Sessions: map[uint64]*Session{}, Resources: map[string]*Resource{}}
}

// Apply applies the entry with the given log index, which must be above every
// index applied before. The outputs are valid until the next call.
func (s *State) Apply(index uint64, requests []wire.Request) []Output {
	s.index, s.outputs, s.changed = index, s.outputs[:0], s.changed[:0]
	for i := range requests {
		s.apply(&requests[i])
	}
	s.grant()
	return s.outputs
}

func (s *State) apply(r *wire.Request) {
	out := Output{Session: r.Session, Answer: wire.Answer{Seq: r.Seq, Outcome: wire.NoSession}}
	sess := s.Sessions[r.Session]
	switch {
	case r.Kind == wire.Open:
		s.LastSession++
		s.Sessions[s.LastSession] = &Session{
			Client: r.Client, Lease: r.Lease, Floor: 1, Touched: s.index,
			Answers: map[uint64]wire.Outcome{}, Claims: map[uint64]string{},
		}
		out.Session, out.Outcome = s.LastSession, wire.Opened
	case sess == nil:
	case r.Kind == wire.Expire && sess.Touched > r.Seen:
		return // renewed since the leader looked
	case r.Kind == wire.Expire:
		s.end(r.Session)
		out.Outcome = wire.Expired
	case r.Kind == wire.Close:
		s.end(r.Session)
		out.Outcome = wire.Closed
	default:
		sess.Touched = s.index
		if r.Floor > sess.Floor {
			sess.Floor = r.Floor
			maps.DeleteFunc(sess.Answers, func(seq uint64, _ wire.Outcome) bool { return seq < r.Floor })
		}
		switch {
		case r.Kind == wire.Renew:
			out.Outcome = wire.Renewed
		case r.Seq < sess.Floor:
			out.Outcome = wire.Ended
		case r.Kind == wire.Release:
			out.Outcome = s.release(sess, r)
		default:
			s.acquire(sess, r, &out)
		}
	}
	s.outputs = append(s.outputs, out)
}

// acquire answers with the claim's present state. The claim may be granted at the end of the entry.
func (s *State) acquire(sess *Session, r *wire.Request, out *Output) {
	cl := Claim{r.Session, r.Seq}
	if _, known := sess.Answers[r.Seq]; !known {
		res := s.Resources[r.Resource]
		if res == nil {
			res = &Resource{}
			s.Resources[r.Resource] = res
		}
		res.Queue = append(res.Queue, cl)
		s.changed = append(s.changed, r.Resource)
		sess.Claims[r.Seq], sess.Answers[r.Seq] = r.Resource, ""
	}
	resource, lives := sess.Claims[r.Seq]
	switch {
	case !lives:
		out.Outcome = wire.Ended
	case s.token(resource, cl) != 0:
		out.Outcome, out.Token, out.Resource = wire.Granted, s.token(resource, cl), resource
	default:
		out.Outcome = wire.Queued
	}
}

// token returns the claim's token, 0 while it waits.
func (s *State) token(resource string, cl Claim) uint64 {
	if res := s.Resources[resource]; res.Queue[0] == cl {
		return res.Token
	}
	return 0
}

func (s *State) release(sess *Session, r *wire.Request) wire.Outcome {
	if before, known := sess.Answers[r.Seq]; known {
		return before
	}
	outcome := wire.NotHeld
	if resource, lives := sess.Claims[r.Claim]; lives {
		outcome = wire.Released
		s.remove(resource, Claim{r.Session, r.Claim})
		delete(sess.Claims, r.Claim)
	}
	sess.Answers[r.Seq] = outcome
	return outcome
}

// end removes the session and all its claims.
func (s *State) end(id uint64) {
	claims := s.Sessions[id].Claims
	for _, seq := range slices.Sorted(maps.Keys(claims)) {
		s.remove(claims[seq], Claim{id, seq})
	}
	delete(s.Sessions, id)
}

// remove removes a claim, held or waiting.
func (s *State) remove(resource string, cl Claim) {
	res := s.Resources[resource]
	if res.Queue[0] == cl {
		res.Token = 0
	}
	res.Queue = slices.DeleteFunc(res.Queue, func(other Claim) bool { return other == cl })
	s.changed = append(s.changed, resource)
}

// grant gives every free resource to the head of its queue, and forgets those without claims.
func (s *State) grant() {
	for _, resource := range s.changed {
		res := s.Resources[resource]
		switch {
		case res == nil: // it was listed twice
		case len(res.Queue) == 0:
			delete(s.Resources, resource)
		case res.Token == 0:
			res.Token = s.index
			s.granted(resource, res.Queue[0])
		}
	}
}

// granted puts a grant into the answer to its acquire if that is in this entry, and into a
// pushed output otherwise.
func (s *State) granted(resource string, cl Claim) {
	i := slices.IndexFunc(s.outputs, func(o Output) bool {
		return o.Outcome == wire.Queued && o.Session == cl.Session && o.Seq == cl.Seq
	})
	if i < 0 {
		i = len(s.outputs)
		s.outputs = append(s.outputs, Output{Session: cl.Session, Answer: wire.Answer{Seq: cl.Seq}, Pushed: true})
	}
	out := &s.outputs[i]
	out.Outcome, out.Token, out.Resource = wire.Granted, s.index, resource
}

// Held lists the claims of a session that hold.
func (s *State) Held(id uint64) []wire.Answer {
	var held []wire.Answer
	for seq, resource := range s.Sessions[id].Claims {
		if token := s.token(resource, Claim{id, seq}); token != 0 {
			held = append(held, wire.Answer{Seq: seq, Outcome: wire.Granted, Token: token})
		}
	}
	return held
}
