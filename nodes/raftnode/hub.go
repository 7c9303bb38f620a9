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

// hub stands between the clients' streams and the replicated log. Its one mutex
// guards the state machine too: what clients hear is in the order of the log.
type hub struct {
	name    string
	clock   clock.Clock
	log     *slog.Logger
	propose func(entry []byte) // hands an entry to raft
	leader  func() string      // as this server knows; a hint for clients
	status  func() *wire.Status

	mu       sync.Mutex
	state    *fsm.State
	serving  bool
	last     uint64           // the newest stream's number
	conns    map[uint64]*conn // by number
	routes   map[uint64]*conn // by session: attached, as of the last applied entry
	lifetime map[uint64]lifetime
}

// entry is what the log carries: the requests of a stream, all that came in one frame.
type entry struct {
	// Server proposed it for its stream with this number. While it serves, all that it applies
	// and that bears its name is of its own time as leader, so no number of an earlier one comes.
	Server   string         `json:"server"`
	Conn     uint64         `json:"conn,omitzero"` // 0 is the server itself
	Requests []wire.Request `json:"requests"`
}

// conn is one client's stream. The hub's mutex guards it.
type conn struct {
	number  uint64
	session uint64           // 0 until it is attached
	next    wire.ServerFrame // what has come together since the last one was sent
	wake    chan struct{}    // has a token while there is something to send
}

// lifetime is how the leader measures one session.
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

// serve begins to serve clients: this server leads and has applied every entry of
// the terms before its own. Every session has a full lease from now on.
func (h *hub) serve() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving = true
}

// stopServing ends all streams. What they asked for and is committed later all the same is
// applied as on any follower.
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
		leader = "" // it does not serve yet, or no longer
	}
	h.end(c, wire.End{Reason: wire.ReasonNotLeader, Leader: leader})
}

// end lets the stream end once everything before was sent. Its session lives on.
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
				_ = conn.Send(wire.ServerFrame{Status: h.status()}) // or it is gone
			case first.Hello != nil:
				h.carry(conn, first.Hello, running)
			}
		})
	}
}

// carry carries one session: another goroutine receives, this one sends.
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
			_ = client.Close() // so that it is gone
		}
		// The client hangs up after an end. A server that did would lose what it has not read, and
		// the end with it.
	}
}

// attach asks to carry a session, a new one or the one that hello names, over the
// stream. A server that does not serve ends the stream with a hint.
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

// receive takes the requests of one frame. What a stream still delivers after another one was
// attached to its session is dropped: it was sent again there.
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
	if err != nil { // cannot happen: what is in it was decoded
		h.log.Error("cannot encode an entry", "error", err)
		return
	}
	h.propose(data)
}

var _ raft.FSM = (*hub)(nil)

// Apply implements [raft.FSM]: it applies a committed entry, and lets clients hear what comes of
// it. An entry that cannot be read may not be left out: another server could know how to.
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

// deliver gives one output to the stream that should hear it, if there is one: an answer to the
// one that asked, anything else to the one that carries the session.
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

// watch looks at every session: one whose lease has run out since it was last heard of is
// proposed to expire, and again a lease later should the proposal get lost. The state machine
// refuses if the session was renewed in the meantime.
func (h *hub) watch() {
	h.mu.Lock()
	if !h.serving {
		h.mu.Unlock()
		return
	}
	// Read under the mutex: a time from before a wait for it may be older than a renewal that
	// was applied during the wait, and that session's lease would end too early.
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

// Snapshot implements [raft.FSM]. It encodes the state at once: it is small, and raft waits
// meanwhile.
func (h *hub) Snapshot() (raft.FSMSnapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	data, err := json.Marshal(h.state)
	return snapshot(data), err
}

// Restore implements [raft.FSM].
func (h *hub) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }() // nothing was written
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
		_ = sink.Cancel() // the first error says more
		return fmt.Errorf("write snapshot: %w", err)
	}
	return sink.Close()
}

func (snapshot) Release() {}
