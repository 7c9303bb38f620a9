package raftnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/hashicorp/raft"

	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/locks/raftlock/fsm"
	"locklab/locks/raftlock/wire"
)

// hub connects the clients' streams to the replicated log. Its one mutex also guards the
// state machine, so that clients get answers in the order of the log.
type hub struct {
	name    string
	clock   clock.Clock
	log     *slog.Logger
	propose func(entry []byte) // passes an entry to raft
	leader  func() string      // the leader as far as this server knows: a hint for clients
	status  func() *wire.Status

	mu       sync.Mutex
	state    *fsm.State
	serving  bool
	last     uint64           // the newest stream's number
	conns    map[uint64]*conn // by number
	routes   map[uint64]*conn // the attached ones, by session, as of the last applied entry
	lifetime map[uint64]lifetime
}

// entry is an entry of the log: the requests of one frame of a stream.
type entry struct {
	// Server proposed the entry for its stream Conn. While a server serves, all entries with its name
	// come from its present term as leader, so stream numbers are unambiguous.
	Server   string         `json:"server"`
	Conn     uint64         `json:"conn,omitzero"` // 0 is the server itself
	Requests []wire.Request `json:"requests"`
}

// conn is one client's stream. The hub's mutex guards it.
type conn struct {
	number  uint64
	session uint64           // 0 until it is attached
	next    wire.ServerFrame // the next frame to send
	wake    chan struct{}    // has a token while next is not empty
}

// lifetime is the leader's measurement of one session's lease.
type lifetime struct {
	touched  uint64
	deadline time.Time
}

func newHub(cfg Config) *hub {
	return &hub{
		name: cfg.Name, clock: cfg.Clock, log: cfg.Log, state: fsm.New(),
		conns: map[uint64]*conn{}, routes: map[uint64]*conn{}, lifetime: map[uint64]lifetime{},
	}
}

// serve begins to serve clients: this server leads and has applied all entries of earlier
// terms. Every session has a full lease from now on.
func (h *hub) serve() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving = true
}

// stopServing ends all streams. Requests of theirs that are still committed later are applied
// as on any follower.
func (h *hub) stopServing() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving = false
	for _, c := range h.conns {
		h.notLeader(c)
	}
	clear(h.lifetime)
}

func (h *hub) notLeader(c *conn) {
	leader := h.leader()
	if leader == h.name {
		leader = "" // this server does not serve
	}
	h.end(c, wire.End{Reason: wire.ReasonNotLeader, Leader: leader})
}

// end ends the stream once its pending answers are sent. Its session lives on.
func (h *hub) end(c *conn, why wire.End) {
	delete(h.conns, c.number)
	if h.routes[c.session] == c {
		delete(h.routes, c.session)
	}
	c.next.End = &why
	signals.Wake(c.wake)
}

// accept serves every connection until ctx ends.
func (h *hub) accept(ctx context.Context, listener net.Listener, running *sync.WaitGroup) error {
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for {
		client, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("raftnode: accept a client: %w", err)
		}
		running.Go(func() {
			defer func() { _ = client.Close() }()
			stop := context.AfterFunc(ctx, func() { _ = client.Close() })
			defer stop()
			conn := wire.NewConn(client)
			var first wire.ClientFrame
			switch err := conn.Receive(&first); {
			case err != nil:
			case first.Status:
				_ = conn.Send(wire.ServerFrame{Status: h.status()}) // fails if the client is gone
			case first.Hello != nil:
				h.carry(conn, first.Hello, running)
			}
		})
	}
}

// carry serves one stream: another goroutine receives, this one sends.
func (h *hub) carry(client *wire.Conn, hello *wire.Hello, running *sync.WaitGroup) {
	c := &conn{wake: make(chan struct{}, 1)}
	h.attach(c, hello)
	gone := make(chan struct{})
	running.Go(func() {
		defer close(gone)
		for {
			var frame wire.ClientFrame
			if client.Receive(&frame) != nil {
				return
			}
			h.receive(c, &frame)
		}
	})
	for {
		select {
		case <-gone:
			h.mu.Lock()
			defer h.mu.Unlock()
			h.end(c, wire.End{})
			return
		case <-c.wake:
		}
		h.mu.Lock()
		frame := c.next
		c.next = wire.ServerFrame{}
		h.mu.Unlock()
		if err := client.Send(frame); err != nil {
			_ = client.Close() // also ends the receiver
		}
		// After an End the client closes. If the server closed with unread data, the connection would
		// be reset, and the End could be lost.
	}
}

// attach proposes to attach a new session, or the one in hello, to the stream. A server that
// does not serve ends the stream with a hint.
func (h *hub) attach(c *conn, hello *wire.Hello) {
	h.mu.Lock()
	serving := h.serving
	if h.last++; serving {
		c.number = h.last
		h.conns[c.number] = c
	} else {
		h.notLeader(c)
	}
	h.mu.Unlock()
	switch {
	case !serving:
	case hello.Session == 0:
		h.ask(c.number, wire.Request{Kind: wire.Open, Client: hello.Client, Lease: hello.Lease})
	default:
		h.ask(c.number, wire.Request{Kind: wire.Renew, Session: hello.Session})
	}
}

// receive proposes the requests of one frame. It drops those of a stream whose session is attached
// to a newer stream: the client has repeated them there.
func (h *hub) receive(c *conn, frame *wire.ClientFrame) {
	h.mu.Lock()
	attached := h.routes[c.session] == c
	h.mu.Unlock()
	if !attached {
		return
	}
	for i := range frame.Requests {
		frame.Requests[i].Session, frame.Requests[i].Floor = c.session, frame.Floor
	}
	h.ask(c.number, frame.Requests...)
}

func (h *hub) ask(conn uint64, requests ...wire.Request) {
	data, err := json.Marshal(entry{Server: h.name, Conn: conn, Requests: requests})
	if err != nil { // cannot happen: its parts were decoded before
		h.log.Error("cannot encode an entry", "error", err)
		return
	}
	h.propose(data)
}

var _ raft.FSM = (*hub)(nil)

// Apply implements [raft.FSM]: it applies a committed entry and delivers its outputs. It panics if it
// cannot decode an entry: skipping it could make this server differ from others that can.
func (h *hub) Apply(committed *raft.Log) any {
	h.mu.Lock()
	defer h.mu.Unlock()
	var e entry
	if err := json.Unmarshal(committed.Data, &e); err != nil {
		panic(fmt.Sprintf("raftnode: entry %d of the log cannot be read: %v", committed.Index, err))
	}
	outputs := h.state.Apply(committed.Index, e.Requests)
	if !h.serving {
		return nil
	}
	var asker *conn
	if e.Server == h.name {
		asker = h.conns[e.Conn]
	}
	for i := range outputs {
		h.deliver(&outputs[i], asker)
	}
	return nil
}

// deliver sends one output to a stream, if there is one: an answer to the stream of its request,
// any other output to the stream of its session.
func (h *hub) deliver(out *fsm.Output, c *conn) {
	if out.Pushed || out.Outcome == wire.Expired {
		c = h.routes[out.Session]
	}
	switch {
	case c == nil:
	case out.Outcome == wire.Closed:
		h.end(c, wire.End{Reason: wire.ReasonClosed})
	case out.Outcome == wire.Expired, out.Outcome == wire.NoSession:
		h.end(c, wire.End{Reason: wire.ReasonSessionEnded})
	case c.session == 0:
		c.session = out.Session
		h.routes[c.session] = c
		c.next.Attached = &wire.Attached{Session: c.session, Held: h.state.Held(c.session)}
		signals.Wake(c.wake)
	default:
		c.next.Answers = append(c.next.Answers, out.Answer)
		signals.Wake(c.wake)
	}
}

// watch proposes to expire every session whose lease has ended since its last command, and again a
// lease later in case the proposal was lost. The state machine ignores it if the session was
// renewed meanwhile.
func (h *hub) watch() {
	h.mu.Lock()
	if !h.serving {
		h.mu.Unlock()
		return
	}
	// The clock must be read under the mutex: otherwise a renewal applied during the wait for the
	// mutex would be newer than now, and its lease would end too early.
	now := h.clock.Now()
	var over []wire.Request
	for id, s := range h.state.Sessions {
		l, known := h.lifetime[id]
		if known && l.touched == s.Touched {
			if !now.After(l.deadline) {
				continue
			}
			h.log.Info("proposed to expire a session", "session", id, "client", s.Client, "lease", s.Lease)
			over = append(over, wire.Request{Kind: wire.Expire, Session: id, Seen: s.Touched})
		}
		h.lifetime[id] = lifetime{touched: s.Touched, deadline: now.Add(s.Lease)}
	}
	maps.DeleteFunc(h.lifetime, func(id uint64, _ lifetime) bool { return h.state.Sessions[id] == nil })
	h.mu.Unlock()
	if len(over) > 0 {
		h.ask(0, over...)
	}
}

// Snapshot implements [raft.FSM]. It encodes the small state at once, while raft waits.
func (h *hub) Snapshot() (raft.FSMSnapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, err := json.Marshal(h.state)
	return snapshot(data), err
}

// Restore implements [raft.FSM].
func (h *hub) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }()
	state := fsm.New()
	if err := json.UnmarshalRead(from, state); err != nil {
		return fmt.Errorf("restore a snapshot: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.state = state
	return nil
}

type snapshot []byte

func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		_ = sink.Cancel() // err matters more
		return fmt.Errorf("write snapshot: %w", err)
	}
	return sink.Close()
}

func (snapshot) Release() {}
