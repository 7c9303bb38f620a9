package fsm

import (
	"maps"
	"slices"
	"time"

	"locklab/locks/raftlock/wire"
)

// Session is what a leader must know of a session to keep its lease.
type Session struct {
	ID      uint64
	Client  string
	Lease   time.Duration
	Touched uint64 // index of the last command of the session
}

// Session looks a session up.
func (s *State) Session(id uint64) (Session, bool) {
	sess := s.sessions[id]
	if sess == nil {
		return Session{}, false
	}
	return sess.public(), true
}

// Sessions lists all sessions, in no order.
func (s *State) Sessions() []Session {
	all := make([]Session, 0, len(s.sessions))
	for _, sess := range s.sessions {
		all = append(all, sess.public())
	}
	return all
}

func (sess *session) public() Session {
	return Session{sess.id, sess.client, sess.lease, sess.touched}
}

// Claims lists the claims of a session in the order in which they were made.
func (s *State) Claims(id uint64) []wire.Claim {
	sess := s.sessions[id]
	if sess == nil {
		return nil
	}
	claims := make([]wire.Claim, 0, len(sess.claims))
	for _, seq := range slices.Sorted(maps.Keys(sess.claims)) {
		claims = append(claims, wire.Claim{Seq: seq, Token: sess.claims[seq].token})
	}
	return claims
}
