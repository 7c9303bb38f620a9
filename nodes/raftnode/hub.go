package raftnode

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/locks/raftlock/fsm"
	"locklab/locks/raftlock/wire"
	"locklab/workloads/history"
)

// maxBatch is how many requests one log entry carries at most.
const maxBatch = 2048

// hub stands between the clients' streams and the replicated log. Its one mutex
// guards the state machine too: outputs go to streams in the order of the log.
type hub struct {
	name        string
	origin      uint64 // names this process among the proposers of entries
	maxInFlight int
	clock       clock.Clock
	recorder    history.Recorder // may be nil
	granted     atomic.Uint64    // leases, while this server served
	led         atomic.Uint64    // terms
	log         *slog.Logger
	propose     func(entry []byte) // hands an entry to raft; must not block

	mu       sync.Mutex
	state    *fsm.State
	serving  bool
	leader   string // a hint for clients
	conns    map[*conn]struct{}
	routes   map[uint64]*conn // by session: attached, as of the last applied entry
	newest   map[uint64]*conn // by session: the stream that asked last to be attached
	queue    []item
	inFlight map[uint64][]item // proposed, by number
	number   uint64
	lifetime map[uint64]lifetime
	marked   []*conn // have something to send when the entry has been applied
}

// item is a request on its way into the log. conn waits for the answer; it is nil
// for requests of the server itself.
type item struct {
	request wire.Request
	conn    *conn
	attach  bool
}

// lifetime is how the leader measures one session.
type lifetime struct {
	touched  uint64
	deadline time.Time
}

func newHub(name string, origin uint64, inFlight int, clk clock.Clock, recorder history.Recorder, log *slog.Logger) *hub {
	return &hub{
		name: name, origin: origin, maxInFlight: inFlight, clock: clk, recorder: recorder, log: log,
		propose: func([]byte) {}, state: fsm.New(), conns: map[*conn]struct{}{},
		routes: map[uint64]*conn{}, newest: map[uint64]*conn{}, inFlight: map[uint64][]item{},
		lifetime: map[uint64]lifetime{},
	}
}

// serve begins to serve clients: this server leads and has applied every entry of
// the terms before its own. Every session has a full lease from now on.
func (h *hub) serve() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serving, h.leader = true, h.name
	h.watch()
}

// stopServing ends all streams and forgets what was not committed. Entries that
// are committed later all the same are applied as on any follower.
func (h *hub) stopServing() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.leader == h.name {
		h.leader = ""
	}
	h.serving = false
	for c := range h.conns {
		c.end(&wire.End{Reason: wire.ReasonNotLeader, Leader: h.leader})
	}
	clear(h.routes)
	clear(h.newest)
	clear(h.inFlight)
	clear(h.lifetime)
	h.queue = nil
}

// attach asks to carry a session, a new one or the one that hello names, over the
// stream. A server that does not serve ends the stream with a hint.
func (h *hub) attach(c *conn, hello *wire.Hello) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.serving {
		c.end(&wire.End{Reason: wire.ReasonNotLeader, Leader: h.leader})
		return
	}
	h.conns[c] = struct{}{}
	request := wire.Request{Kind: wire.Renew, Session: hello.Session}
	if hello.Session == 0 {
		request = wire.Request{Kind: wire.Open, Client: hello.Client, LeaseMS: hello.LeaseMS}
	} else {
		if before := h.newest[hello.Session]; before != nil {
			before.end(&wire.End{Reason: wire.ReasonSuperseded})
		}
		h.newest[hello.Session] = c
	}
	h.queue = append(h.queue, item{request: request, conn: c, attach: true})
	h.proposeQueued()
}

// detach forgets a stream that has ended. Its session lives on.
func (h *hub) detach(c *conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c.end(nil)
	delete(h.conns, c)
	if h.routes[c.session] == c {
		delete(h.routes, c.session)
	}
	if h.newest[c.session] == c {
		delete(h.newest, c.session)
	}
}

// receive queues the requests of one frame. What a stream still delivers after
// another one was opened for its session is dropped: it will be sent again there.
func (h *hub) receive(c *conn, frame *wire.ClientFrame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.serving || c.ended || h.newest[c.session] != c {
		return
	}
	for _, r := range frame.Requests {
		switch r.Kind {
		case wire.Acquire, wire.Release, wire.Renew, wire.Close:
		default: // none of a client's
			c.end(&wire.End{Reason: wire.ReasonProtocol, Detail: "unknown kind of request"})
			return
		}
		c.waiting++
		if c.waiting > 2*fsm.Window || len(r.Resource) > fsm.MaxName {
			c.end(&wire.End{Reason: wire.ReasonProtocol, Detail: "too many requests at once, or too long a name"})
			return
		}
		r.Session, r.Floor = c.session, frame.Floor
		h.queue = append(h.queue, item{request: r, conn: c})
	}
	h.proposeQueued()
}

// proposeQueued proposes what is queued while there is room in flight.
func (h *hub) proposeQueued() {
	for len(h.queue) > 0 && len(h.inFlight) < h.maxInFlight {
		n := min(len(h.queue), maxBatch)
		batch := h.queue[:n:n]
		if h.queue = h.queue[n:]; len(h.queue) == 0 {
			h.queue = nil // the batch owns the array now
		}
		h.number++
		entry := fsm.Entry{Origin: h.origin, Number: h.number}
		for _, i := range batch {
			entry.Requests = append(entry.Requests, i.request)
		}
		data, err := fsm.EncodeEntry(entry)
		if err != nil { // cannot happen: what is in it was decoded
			h.log.Error("cannot encode an entry", "error", err)
			continue
		}
		h.inFlight[h.number] = batch
		h.propose(data)
	}
}

// apply applies a committed entry and sends out what clients should hear of it. What it
// cannot read it may not leave out either: another server could know how to.
func (h *hub) apply(index uint64, data []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	entry, err := fsm.DecodeEntry(data)
	if err != nil {
		return err
	}
	outputs := h.state.Apply(index, entry.Requests)
	var batch []item
	if entry.Origin == h.origin {
		batch = h.inFlight[entry.Number]
		delete(h.inFlight, entry.Number)
	}
	if h.serving || batch != nil {
		for i := range outputs {
			h.deliver(&outputs[i], batch)
		}
		h.wakeMarked()
		h.proposeQueued()
		h.record(outputs)
	}
	return nil
}

// deliver gives one output to the stream that should hear it, if there is one.
func (h *hub) deliver(out *fsm.Output, batch []item) {
	if out.Request != fsm.Pushed && batch != nil {
		asked := batch[out.Request]
		if asked.attach {
			h.attached(out, asked.conn)
			return
		}
		if asked.conn != nil {
			asked.conn.waiting--
		}
	}
	c := h.routes[out.Session]
	if c == nil {
		return
	}
	switch out.Outcome {
	case wire.Closed:
		c.end(&wire.End{Reason: wire.ReasonClosed})
	case wire.Expired, wire.NoSession:
		c.end(&wire.End{Reason: wire.ReasonSessionEnded})
	default:
		c.answer(out)
		h.mark(c)
	}
}

// mark lists a stream that has something to send. It is woken once for the whole
// entry, so that all of it travels in one frame.
func (h *hub) mark(c *conn) {
	if !c.marked {
		c.marked = true
		h.marked = append(h.marked, c)
	}
}

func (h *hub) wakeMarked() {
	for i, c := range h.marked {
		c.marked = false
		signals.Wake(c.wake)
		h.marked[i] = nil
	}
	h.marked = h.marked[:0]
}

func (h *hub) attached(out *fsm.Output, c *conn) {
	if out.Outcome != wire.Opened && out.Outcome != wire.Renewed {
		reason, detail := wire.ReasonSessionEnded, ""
		if out.Outcome == wire.Refused {
			reason, detail = wire.ReasonProtocol, "the lease or the client's name is out of bounds"
		}
		c.end(&wire.End{Reason: reason, Detail: detail})
		return
	}
	if out.Outcome == wire.Opened {
		if !c.ended {
			h.newest[out.Session] = c
		}
	} else if h.newest[out.Session] != c {
		return // another stream has asked for the session since
	}
	if c.session = out.Session; c.ended {
		return // the client is gone; another stream of it may come
	}
	session, _ := h.state.Session(out.Session)
	h.routes[session.ID] = c
	c.attach(&wire.Attached{
		Session: session.ID, LeaseMS: uint64(session.Lease / time.Millisecond), Claims: h.state.Claims(session.ID),
	})
	h.mark(c)
}

// record writes the grants into the history.
func (h *hub) record(outputs []fsm.Output) {
	if !h.serving {
		return
	}
	now := clock.Mono()
	for i := range outputs {
		out := &outputs[i]
		if out.Outcome != wire.Granted {
			continue
		}
		h.granted.Add(1)
		if h.recorder == nil || strings.Contains(out.Resource, history.CapacityResource) || strings.Contains(out.Resource, history.CanaryPrefix) {
			continue
		}
		session, _ := h.state.Session(out.Session)
		h.recorder.Record(history.Event{
			Kind: history.KindGrant, AtNS: now, Node: h.name, Resource: out.Resource,
			Client: session.Client, Token: out.Token,
		})
	}
}

// watch looks at every session: one whose lease has run out since it was last
// heard of is proposed to expire. The state machine refuses if the session was
// renewed in the meantime. It must be called with the mutex held, and reads the clock
// only then: a time from before a wait for the mutex may be older than a renewal that was
// applied during the wait, and that session's lease would end too early.
func (h *hub) watch() {
	if !h.serving {
		return
	}
	now := h.clock.Now()
	for _, s := range h.state.Sessions() {
		l, known := h.lifetime[s.ID]
		switch {
		case !known || l.touched != s.Touched:
			h.lifetime[s.ID] = lifetime{touched: s.Touched, deadline: now.Add(s.Lease)}
		case now.After(l.deadline):
			h.log.Info("proposed to expire a session", "session", s.ID, "client", s.Client, "lease", s.Lease)
			h.queue = append(h.queue, item{request: wire.Request{Kind: wire.Expire, Session: s.ID, Seen: s.Touched}})
			// Should the proposal get lost, it is made again a lease later.
			h.lifetime[s.ID] = lifetime{touched: s.Touched, deadline: now.Add(s.Lease)}
		}
	}
	for id := range h.lifetime {
		if _, lives := h.state.Session(id); !lives {
			delete(h.lifetime, id)
		}
	}
	h.proposeQueued()
}
