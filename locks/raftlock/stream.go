package raftlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/locks/raftlock/wire"
)

// stream is the connection to the leader.
type stream struct {
	cancel context.CancelFunc
	wake   chan struct{} // wakes the sender
	asked  time.Time     // since when an answer is due; zero if none is. The Locker's mutex guards it.
}

// connect keeps the client attached to the leader until ctx ends. Without a hint it tries one
// server after the other.
func (l *Locker) connect(ctx context.Context, servers []Server, random *rand.Rand) {
	at := random.IntN(len(servers))
	for ctx.Err() == nil {
		hint, err := l.talk(ctx, servers[at])
		l.log.Debug("left a raft server", "server", servers[at].Name, "hint", hint, "reason", err)
		at = (at + 1) % len(servers)
		if next := slices.IndexFunc(servers, func(s Server) bool { return s.Name == hint }); next >= 0 {
			at = next
		}
		wait := 5*time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))
		clock.Await(l.clock, wait, ctx.Done())
	}
}

// talk attaches the session to one server and serves the stream to its end. The
// hint names the leader, as far as this server knows.
func (l *Locker) talk(ctx context.Context, server Server) (hint string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Bounds the time to find out whether the server leads.
	giveUp := l.clock.AfterFunc(min(750*time.Millisecond, l.options.Lease/2), cancel)
	defer giveUp.Stop()
	conn, err := wire.Dial(ctx, server.Addr)
	if err != nil {
		return "", fmt.Errorf("dial: %w", err)
	}
	l.mu.Lock()
	hello := &wire.Hello{Client: l.client, Lease: l.options.Lease, Session: l.session.id}
	sentAt := l.clock.Now()
	l.mu.Unlock()
	if err := conn.Send(wire.ClientFrame{Hello: hello}); err != nil {
		return "", err
	}

	s := &stream{cancel: cancel, wake: make(chan struct{}, 1)}
	var sender sync.WaitGroup
	defer sender.Wait()
	defer cancel()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.stream = nil
	}()
	for {
		var frame wire.ServerFrame
		if err := conn.Receive(&frame); err != nil {
			return "", err
		}
		if frame.Attached != nil {
			if !giveUp.Stop() {
				return "", context.DeadlineExceeded
			}
			l.log.Debug("attached to a raft server", "server", server.Name, "session", frame.Attached.Session)
			l.attach(s, frame.Attached, sentAt)
			sender.Go(func() { l.send(ctx, s, conn) })
		}
		l.receive(s, frame.Answers)
		if frame.End != nil {
			return l.ending(frame.End, server.Name)
		}
	}
}

// attach takes over the leader's view of the session, and resends all unanswered requests.
func (l *Locker) attach(st *stream, a *wire.Attached, sentAt time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = st
	l.session.id, l.session.sent = a.Session, 0
	l.session.extend(sentAt)
	for _, held := range a.Held {
		l.grant(l.session.claims[held.Seq], held.Token)
	}
	l.wakeSender()
}

// receive handles the answers of one frame.
func (l *Locker) receive(st *stream, answers []wire.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range answers {
		if a.Outcome != wire.Renewed {
			l.messages.Add(1)
		}
		l.grant(l.session.answer(a), a.Token)
	}
	if st.asked = (time.Time{}); len(l.session.requests) > 0 {
		st.asked = l.clock.Now()
	}
}

// grant lets a waiting claim hold. If the session is not surely alive, grant replaces the stream:
// the next Attached lists the held claims again.
func (l *Locker) grant(c *claim, token uint64) {
	switch {
	case c == nil || c.token != 0 || c.ending:
	case !l.session.alive(l.clock.Now()):
		l.stream.cancel()
	default:
		c.token, c.held = token, true
		close(c.decided)
	}
}

// send sends all pending requests in one frame, whenever it is woken.
func (l *Locker) send(ctx context.Context, s *stream, conn *wire.Conn) {
	defer s.cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		// One frame from the server often wakes several callers. They run first, so that their
		// next requests share this frame, and thus one log entry.
		runtime.Gosched()
		l.mu.Lock()
		now := l.clock.Now()
		frame := l.session.frame(now)
		if s.asked.IsZero() && len(frame.Requests) > 0 {
			s.asked = now
		}
		l.mu.Unlock()
		for _, r := range frame.Requests {
			if r.Kind != wire.Renew {
				l.messages.Add(1)
			}
		}
		if len(frame.Requests) > 0 && conn.Send(frame) != nil {
			return // Receive returns the reason
		}
	}
}

// wakeSender wakes the sender. It must be called with the mutex held.
func (l *Locker) wakeSender() {
	if l.stream != nil {
		signals.Wake(l.stream.wake)
	}
}

// ending handles the end of the stream by the named server, and returns the server to try next.
func (l *Locker) ending(end *wire.End, name string) (hint string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	hint = end.Leader
	switch end.Reason {
	case wire.ReasonSessionEnded:
		hint = name // it leads, so the new session begins there
		l.session = l.session.succeed()
	case wire.ReasonClosed:
		l.session.settle(wire.Released, wire.Released)
	case wire.ReasonNotLeader:
	}
	return hint, fmt.Errorf("the server ended the stream: %s", end.Reason)
}

// maintain calls tick until ctx ends.
func (l *Locker) maintain(ctx context.Context) {
	often := min(25*time.Millisecond, l.options.Lease/40) // half the margin at most
	for ctx.Err() == nil {
		clock.Await(l.clock, often, ctx.Done())
		l.tick()
	}
}

// tick renews the session, gives leases up in time and leaves a leader that does not answer.
func (l *Locker) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, s := l.clock.Now(), l.session
	if st := l.stream; st != nil {
		if s.renew(now) {
			l.wakeSender()
		}
		// After this time without an answer the client looks for another leader.
		stall := min(time.Second, l.options.Lease/2)
		if since := now.Sub(st.asked); !st.asked.IsZero() && since > stall {
			l.log.Debug("gave up a raft server that does not answer", "for", since)
			st.cancel()
		}
	}
	if s.id != 0 && !s.alive(now) {
		l.giveUp()
	}
}

// giveUp closes Lost on every lease, because the service may end the session soon. In case the
// service keeps the session, giveUp releases the leases after the margin, which the holders have to notice.
func (l *Locker) giveUp() {
	s := l.session
	var lost []*claim
	for _, c := range s.claims {
		if c.lose() {
			lost = append(lost, c)
		}
	}
	if len(lost) == 0 {
		return
	}
	l.clock.AfterFunc(s.margin(), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, c := range lost {
			if l.session == s && !l.closing && !c.ending {
				s.release(c.seq)
			}
		}
		l.wakeSender()
	})
}
