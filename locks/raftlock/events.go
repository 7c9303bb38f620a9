package raftlock

import (
	"fmt"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/raftlock/wire"
)

// attach takes over what the leader says of the session, and lets everything that
// was not answered be sent again.
func (l *Locker) attach(st *stream, a *wire.Attached, sentAt time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session
	s.id, s.lease = a.Session, time.Duration(a.LeaseMS)*time.Millisecond
	s.sent, s.renewalAt = 0, time.Time{}
	s.extend(sentAt)
	st.heard = l.clock.Now()
	l.stream = st

	known := make(map[uint64]uint64, len(a.Claims))
	for _, c := range a.Claims {
		known[c.Seq] = c.Token
		if s.claims[c.Seq] == nil {
			s.release(c.Seq) // nobody here wants it any more
		}
	}
	for _, c := range s.inOrder() {
		token, listed := known[c.seq]
		switch {
		case c.seq == 0 || s.find(c.seq) != nil || c.ending:
			// What was asked is asked again, and the rest for the first time; the answer will tell.
		case listed && token != 0:
			l.grant(c, token)
		case !listed:
			// Cannot happen while both sides keep the protocol; if it does, say so.
			delete(s.claims, c.seq)
			c.fail(fmt.Errorf("%w: the service has no such claim: %w", locks.ErrNotAcquired, locks.ErrUnavailable))
			c.lose()
		}
	}
	l.deliverLate()
	l.wakeSender()
}

// receive takes one frame from the leader.
func (l *Locker) receive(st *stream, frame *wire.ServerFrame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st.heard = l.clock.Now()
	l.messages.Add(uint64(len(frame.Answers)))
	s := l.session
	for _, a := range frame.Answers {
		if a.Outcome == wire.Renewed {
			l.messages.Add(^uint64(0)) // renewals are not counted
			if a.Seq == s.renewal && !s.renewalAt.IsZero() {
				s.extend(s.renewalAt)
				s.renewalAt = time.Time{}
			}
			continue
		}
		l.answer(a)
	}
	s.trim()
	l.deliverLate()
	if len(s.requests)+len(s.unsent) == 0 && s.renewalAt.IsZero() && !l.closing {
		st.asked = time.Time{}
	} else {
		st.asked = st.heard
		if len(s.unsent) > 0 {
			l.wakeSender() // the window has moved
		}
	}
}

func (l *Locker) answer(a wire.Answer) {
	s := l.session
	c := s.claims[a.Seq]
	if r := s.find(a.Seq); r != nil {
		s.extend(r.sentAt)
		r.settle(a.Outcome)
		if r.message.Kind == wire.Release {
			delete(s.claims, r.message.Claim)
			return
		}
	}
	if c == nil {
		return
	}
	switch a.Outcome {
	case wire.Granted:
		l.grant(c, a.Token)
	case wire.Queued:
	case wire.Refused:
		delete(s.claims, c.seq)
		c.fail(fmt.Errorf("%w: the service refused the request", locks.ErrNotAcquired))
	default: // it has ended
		if !c.ending {
			delete(s.claims, c.seq)
			c.fail(fmt.Errorf("%w: the claim has ended: %w", locks.ErrNotAcquired, locks.ErrUnavailable))
		}
	}
}

// grant lets a claim hold if the session is surely alive, and otherwise as
// soon as it is. An abandoned claim's release is on its way already.
func (l *Locker) grant(c *claim, token uint64) {
	if c.token != 0 || c.abandoned {
		return
	}
	c.token = token
	if !l.session.alive(l.clock.Now()) {
		l.session.late = append(l.session.late, c)
		return
	}
	c.hold()
}

func (l *Locker) deliverLate() {
	s := l.session
	if len(s.late) == 0 {
		return
	}
	if !s.alive(l.clock.Now()) {
		l.wakeSender() // a renewal decides
		return
	}
	for _, c := range s.late {
		if !c.abandoned && !c.isDecided() {
			c.hold()
		}
	}
	s.late = nil
}

// giveUp closes Lost on every lease, because the service may end the session
// soon. Should it keep it, it is told that the leases are not wanted: after the margin, which
// is there for whoever held to notice.
func (l *Locker) giveUp() {
	s := l.session
	var lost []*claim
	for _, c := range s.inOrder() {
		if c.held && !c.ending && !signals.Closed(c.lost) {
			c.lose()
			lost = append(lost, c)
		}
	}
	if len(lost) > 0 {
		l.clock.AfterFunc(s.margin(), func() { l.giveBack(s, lost) })
	}
}

// giveBack releases what was lost, unless who held it has done so.
func (l *Locker) giveBack(s *session, lost []*claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session != s || l.closing {
		return
	}
	for _, c := range lost {
		if s.claims[c.seq] == c && !c.ending {
			s.release(c.seq)
		}
	}
	l.wakeSender()
}

// ending reacts to the reason for which the named server ended the stream, and
// says which server to try next.
func (l *Locker) ending(end *wire.End, name string) (hint string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hint = end.Leader
	switch end.Reason {
	case wire.ReasonClosed:
		l.endOnce()
	case wire.ReasonSessionEnded:
		hint = name // it leads: a new session can begin there
		l.session = l.session.succeed()
		if l.closing {
			l.endOnce()
		}
	default:
	}
	return hint, fmt.Errorf("%w: %s %s", errEndOfStream, end.Reason, end.Detail)
}

func (l *Locker) endOnce() {
	if !signals.Closed(l.ended) {
		close(l.ended)
	}
}
