package raftlock

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/locks/raftlock/wire"
)

// stream is the connection to a server that leads.
type stream struct {
	cancel context.CancelFunc
	wake   chan struct{} // there may be something to send
	// heard is when the last frame came, and asked since when an answer is due;
	// zero if none is. The Locker's mutex guards them.
	heard, asked time.Time
	closeSent    bool
}

// errEndOfStream says that the server has ended the stream in good order.
var errEndOfStream = errors.New("the server ended the stream")

// attachTimeout bounds finding out whether a server leads; stallTimeout is how long
// a leader may leave a request unanswered before another one is looked for.
func (o Options) attachTimeout() time.Duration { return min(750*time.Millisecond, o.Lease/2) }
func (o Options) stallTimeout() time.Duration  { return min(time.Second, o.Lease/2) }

// connect keeps the client attached to the leader until ctx ends.
func (l *Locker) connect(ctx context.Context) {
	for ctx.Err() == nil {
		server := l.nodes.servers[l.nodes.at]
		hint, err := l.talk(ctx, server)
		if ctx.Err() != nil {
			return
		}
		wait := l.nodes.failed(hint)
		l.log.Debug("left a raft server", "server", server.Name, "hint", hint, "reason", err, "wait", wait)
		if wait > 0 {
			clock.Await(l.clock, wait, ctx.Done())
		}
	}
}

// talk attaches the session to one server and serves the stream to its end. The
// hint names the server that leads, as far as this one knows.
func (l *Locker) talk(ctx context.Context, server Server) (hint string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	giveUp := l.clock.AfterFunc(l.options.attachTimeout(), cancel)
	defer giveUp.Stop()

	conn, err := wire.Dial(ctx, server.Addr)
	if err != nil {
		return "", fmt.Errorf("dial: %w", err)
	}
	l.mu.Lock()
	hello := &wire.Hello{Client: l.client, LeaseMS: uint64(l.options.Lease / time.Millisecond), Session: l.session.id}
	sentAt := l.clock.Now()
	l.mu.Unlock()
	if err := conn.Send(wire.ClientFrame{Hello: hello}); err != nil {
		return "", err
	}
	var frame wire.ServerFrame
	if err := conn.Receive(&frame); err != nil {
		return "", fmt.Errorf("wait to be attached: %w", err)
	}
	if !giveUp.Stop() {
		return "", context.DeadlineExceeded
	}
	if end := frame.End; end != nil {
		return l.ending(end, server.Name)
	}
	if frame.Attached == nil {
		return "", errors.New("the server did not attach the session")
	}
	l.nodes.succeeded()
	l.log.Debug("attached to a raft server", "server", server.Name, "session", frame.Attached.Session)

	s := &stream{cancel: cancel, wake: make(chan struct{}, 1)}
	l.attach(s, frame.Attached, sentAt)
	var sender sync.WaitGroup
	sender.Go(func() { l.send(ctx, s, conn) })
	defer sender.Wait()
	defer cancel()
	defer l.detach()
	for {
		if end := frame.End; end != nil {
			return l.ending(end, server.Name)
		}
		l.receive(s, &frame)
		frame = wire.ServerFrame{}
		if err := conn.Receive(&frame); err != nil {
			return "", err
		}
	}
}

// send sends what there is to send, all of it in one frame, whenever it is woken.
func (l *Locker) send(ctx context.Context, s *stream, conn *wire.Conn) {
	defer s.cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		// One frame from the server often lets several callers go on. Let them ask for
		// what comes next before the frame is filled: one log entry then carries all of
		// it.
		runtime.Gosched()
		frame := l.frame(s)
		if len(frame.Requests) == 0 {
			continue
		}
		if err := conn.Send(frame); err != nil {
			return // receiving says why
		}
	}
}

func (l *Locker) frame(s *stream) wire.ClientFrame {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	frame := wire.ClientFrame{Floor: l.session.floor(), Requests: l.session.toSend(now)}
	l.messages.Add(uint64(len(frame.Requests)))
	if l.renewalDue(now) {
		l.session.renewal++
		l.session.renewalAt = now
		frame.Requests = append(frame.Requests, wire.Request{Kind: wire.Renew, Seq: l.session.renewal})
	}
	if l.closing && !s.closeSent {
		s.closeSent = true
		frame.Requests = append(frame.Requests, wire.Request{Kind: wire.Close})
	}
	if len(frame.Requests) > 0 && s.asked.IsZero() {
		s.asked = now
	}
	return frame
}

// renewalDue says whether the session should be renewed: a third of the lease has
// passed since anything that was answered was sent, or a grant waits for it.
func (l *Locker) renewalDue(now time.Time) bool {
	s := l.session
	if s.id == 0 || !s.renewalAt.IsZero() {
		return false
	}
	return len(s.late) > 0 || now.After(s.until.Add(-s.lease*2/3))
}

// wakeSender wakes the sender. It must be called with the mutex held.
func (l *Locker) wakeSender() {
	if l.stream == nil {
		return
	}
	signals.Wake(l.stream.wake)
}

func (l *Locker) detach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stream = nil
}

// maintain renews the session, gives leases up in time and leaves servers that do
// not answer.
func (l *Locker) maintain(ctx context.Context) {
	const often = 25 * time.Millisecond
	timer := l.clock.NewTimer(often)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		timer.Reset(min(often, max(time.Millisecond, l.tick())))
	}
}

// tick returns how long nothing will be due.
func (l *Locker) tick() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, s := l.clock.Now(), l.session
	if st := l.stream; st != nil {
		if l.renewalDue(now) {
			l.wakeSender()
		}
		since := st.asked
		if st.heard.After(since) {
			since = st.heard
		}
		if !st.asked.IsZero() && now.Sub(since) > l.options.stallTimeout() {
			l.log.Debug("gave up a raft server that does not answer", "for", now.Sub(since))
			st.cancel()
		}
	}
	if s.id == 0 {
		return time.Hour
	}
	if !s.alive(now) {
		l.giveUp()
		return time.Hour
	}
	return s.end().Sub(now)
}
