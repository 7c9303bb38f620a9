package fsm_test

import (
	"slices"

	"locklab/locks/raftlock/wire"
)

// model is the state machine as one would explain it: lists and no bounds on
// memory. The first claim in a resource's list holds it once it has a token.
type model struct {
	lastSession uint64
	sessions    map[uint64]*modelSession
	queues      map[string][]*modelClaim
}

type modelSession struct {
	floor   uint64
	touched uint64
	done    map[uint64]wire.Outcome // releases ever answered
	claims  map[uint64]*modelClaim  // acquires ever seen, ended ones included
}

type modelClaim struct {
	session, seq, token uint64
	resource            string
	ended               bool
}

func newModel() *model {
	return &model{sessions: map[uint64]*modelSession{}, queues: map[string][]*modelClaim{}}
}

type modelOutput struct {
	session, seq uint64
	outcome      wire.Outcome
	token        uint64
}

// apply returns the answers in the order of the commands, and the pushed grants by
// session and number.
func (m *model) apply(index uint64, commands []wire.Request) (answers []modelOutput, pushed map[[2]uint64]uint64) {
	asked := map[*modelClaim]int{} // the first answer in an entry that has to say of a grant
	for _, c := range commands {
		out := modelOutput{session: c.Session, seq: c.Seq}
		s := m.sessions[c.Session]
		switch {
		case c.Kind == wire.Open:
			m.lastSession++
			m.sessions[m.lastSession] = &modelSession{
				floor: 1, touched: index, done: map[uint64]wire.Outcome{}, claims: map[uint64]*modelClaim{},
			}
			out.session, out.outcome = m.lastSession, wire.Opened
		case s == nil:
			out.outcome = wire.NoSession
		case c.Kind == wire.Renew:
			s.touched = index
			out.outcome = wire.Renewed
		case c.Kind == wire.Close, c.Kind == wire.Expire:
			if c.Kind == wire.Expire && s.touched > c.Seen {
				continue
			}
			for _, cl := range s.claims {
				m.endClaim(cl)
			}
			delete(m.sessions, c.Session)
			out.outcome = wire.Closed
			if c.Kind == wire.Expire {
				out.outcome = wire.Expired
			}
		default:
			s.touched = index
			s.floor = max(s.floor, c.Floor)
			switch {
			case c.Seq < s.floor:
				out.outcome = wire.Ended
			case c.Kind == wire.Acquire:
				if s.claims[c.Seq] == nil {
					cl := &modelClaim{session: c.Session, seq: c.Seq, resource: c.Resource}
					s.claims[c.Seq] = cl
					m.queues[c.Resource] = append(m.queues[c.Resource], cl)
				}
				cl := s.claims[c.Seq]
				if _, before := asked[cl]; !before {
					asked[cl] = len(answers)
				}
				out.outcome, out.token = cl.fate()
			default:
				out.outcome = m.release(s, c)
			}
		}
		answers = append(answers, out)
	}
	pushed = map[[2]uint64]uint64{}
	for _, queue := range m.queues {
		if len(queue) == 0 || queue[0].token != 0 {
			continue
		}
		cl := queue[0]
		cl.token = index
		if i, ok := asked[cl]; ok {
			answers[i].outcome, answers[i].token = cl.fate()
		} else {
			pushed[[2]uint64{cl.session, cl.seq}] = index
		}
	}
	return answers, pushed
}

func (c *modelClaim) fate() (wire.Outcome, uint64) {
	switch {
	case c.ended:
		return wire.Ended, 0
	case c.token == 0:
		return wire.Queued, 0
	default:
		return wire.Granted, c.token
	}
}

func (m *model) release(s *modelSession, c wire.Request) wire.Outcome {
	if before, ok := s.done[c.Seq]; ok {
		return before
	}
	cl := s.claims[c.Claim]
	outcome := wire.NotHeld
	if cl != nil && !cl.ended {
		outcome = wire.Released
	}
	if cl != nil {
		m.endClaim(cl)
	}
	s.done[c.Seq] = outcome
	return outcome
}

func (m *model) endClaim(cl *modelClaim) {
	cl.ended = true
	m.queues[cl.resource] = slices.DeleteFunc(m.queues[cl.resource], func(q *modelClaim) bool { return q == cl })
}
