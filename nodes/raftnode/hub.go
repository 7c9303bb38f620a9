package raftnode

import (
	"log/slog"
	"sync"
	"time"

	"locklab/locks/clock"
	"locklab/locks/raftlock/fsm"
	pb "locklab/locks/raftlock/raftlockpb"
	"locklab/workloads/history"
)

// maxBatch is how many commands one log entry carries at most.
const maxBatch = 2048

// hub stands between the clients' streams and the replicated log. Its one mutex
// guards the state machine too: outputs go to streams in the order of the log.
type hub struct {
	name     string
	origin   uint64 // names this process among the proposers of entries
	inFlight int
	clock    clock.Clock
	recorder history.Recorder // may be nil
	log      *slog.Logger
	propose  func(entry []byte) // hands an entry to raft; must not block

	mu       sync.Mutex
	state    *fsm.State
	decoded  []fsm.Command // space for decoding, used again
	serving  bool
	leader   string // a hint for clients
	conns    map[*conn]struct{}
	routes   map[uint64]*conn // by session: attached, as of the last applied entry
	newest   map[uint64]*conn // by session: the stream that asked last to be attached
	queue    []item
	flying   map[uint64][]item // proposed, by number
	number   uint64
	lifetime map[uint64]lifetime
	roused   []*conn // have something to send when the entry has been applied
}

// item is a command on its way into the log. conn waits for the answer; it is nil
// for commands of the server itself.
type item struct {
	command fsm.Command
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
		name: name, origin: origin, inFlight: inFlight, clock: clk, recorder: recorder, log: log,
		propose: func([]byte) {}, state: fsm.New(), conns: map[*conn]struct{}{},
		routes: map[uint64]*conn{}, newest: map[uint64]*conn{}, flying: map[uint64][]item{},
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
		c.end(&pb.End{Reason: pb.End_REASON_NOT_LEADER, Leader: h.leader})
	}
	clear(h.routes)
	clear(h.newest)
	clear(h.flying)
	clear(h.lifetime)
	h.queue = nil
}

// attach asks to carry a session, a new one or the one that hello names, over the
// stream. A server that does not serve ends the stream with a hint.
func (h *hub) attach(c *conn, hello *pb.Hello) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.serving {
		c.end(&pb.End{Reason: pb.End_REASON_NOT_LEADER, Leader: h.leader})
		return
	}
	h.conns[c] = struct{}{}
	command := fsm.Command{Kind: fsm.KindRenew, Session: hello.GetSession()}
	if hello.GetSession() == 0 {
		lease := time.Duration(min(hello.GetLeaseMs(), uint64(fsm.MaxLease/time.Millisecond))) * time.Millisecond
		command = fsm.Command{Kind: fsm.KindOpen, Client: hello.GetClient(), Lease: lease}
	} else {
		if before := h.newest[hello.GetSession()]; before != nil {
			before.end(&pb.End{Reason: pb.End_REASON_SUPERSEDED})
		}
		h.newest[hello.GetSession()] = c
	}
	h.enqueue(item{command: command, conn: c, attach: true})
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
func (h *hub) receive(c *conn, frame *pb.ClientFrame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.serving || c.ended || h.newest[c.session] != c {
		return
	}
	for _, r := range frame.GetRequests() {
		command := fsm.Command{Session: c.session, Seq: r.GetSeq(), Floor: frame.GetFloor()}
		switch r.GetKind() {
		case pb.Request_KIND_ACQUIRE:
			command.Kind, command.Resource = fsm.KindAcquire, r.GetResource()
		case pb.Request_KIND_RELEASE:
			command.Kind, command.Claim = fsm.KindRelease, r.GetClaim()
		case pb.Request_KIND_RENEW:
			command.Kind, command.Floor = fsm.KindRenew, 0
		case pb.Request_KIND_CLOSE:
			command = fsm.Command{Kind: fsm.KindClose, Session: c.session}
		case pb.Request_KIND_UNSPECIFIED:
			fallthrough
		default:
			c.end(&pb.End{Reason: pb.End_REASON_PROTOCOL, Detail: "unknown kind of request"})
			return
		}
		c.waiting++
		if c.waiting > 2*fsm.Window || len(command.Resource) > fsm.MaxName {
			c.end(&pb.End{Reason: pb.End_REASON_PROTOCOL, Detail: "too many requests at once, or too long a name"})
			return
		}
		h.queue = append(h.queue, item{command: command, conn: c})
	}
	h.fly()
}

// enqueue must be called with the mutex held.
func (h *hub) enqueue(i item) {
	h.queue = append(h.queue, i)
	h.fly()
}

// fly proposes what is queued while there is room in flight.
func (h *hub) fly() {
	for len(h.queue) > 0 && len(h.flying) < h.inFlight {
		n := min(len(h.queue), maxBatch)
		batch := h.queue[:n:n]
		if h.queue = h.queue[n:]; len(h.queue) == 0 {
			h.queue = nil // the batch owns the array now
		}
		commands := make([]fsm.Command, n)
		for i := range batch {
			commands[i] = batch[i].command
		}
		h.number++
		h.flying[h.number] = batch
		h.propose(fsm.AppendEntry(nil, fsm.Entry{Origin: h.origin, Number: h.number, Commands: commands}))
	}
}

// apply applies a committed entry and sends out what clients should hear of it.
func (h *hub) apply(index uint64, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	entry, err := fsm.DecodeEntry(data, h.decoded)
	if err != nil {
		// It reads the same on every server, and all ignore it.
		h.log.Error("ignored an entry of the log that does not decode", "index", index, "error", err)
		return
	}
	outputs := h.state.Apply(index, entry.Commands)
	var batch []item
	if entry.Origin == h.origin {
		batch = h.flying[entry.Number]
		delete(h.flying, entry.Number)
	}
	if h.serving || batch != nil {
		for i := range outputs {
			h.deliver(&outputs[i], batch)
		}
		h.rouse()
		h.fly()
		h.record(outputs)
	}
	clear(entry.Commands) // let go of the strings
	h.decoded = entry.Commands[:0]
}

// deliver gives one output to the stream that should hear it, if there is one.
func (h *hub) deliver(out *fsm.Output, batch []item) {
	if out.Command != fsm.Pushed && batch != nil && batch[out.Command].attach {
		h.attached(out, batch[out.Command].conn)
		return
	}
	if out.Command != fsm.Pushed && batch != nil && batch[out.Command].conn != nil {
		batch[out.Command].conn.waiting--
	}
	c := h.routes[out.Session]
	if c == nil {
		return
	}
	switch out.Outcome {
	case fsm.Closed:
		c.end(&pb.End{Reason: pb.End_REASON_CLOSED})
	case fsm.Expired, fsm.NoSession:
		c.end(&pb.End{Reason: pb.End_REASON_SESSION_ENDED})
	default:
		c.answer(out)
		h.stir(c)
	}
}

// stir lists a stream that has something to send. It is woken once for the whole
// entry, so that all of it travels in one frame.
func (h *hub) stir(c *conn) {
	if !c.roused {
		c.roused = true
		h.roused = append(h.roused, c)
	}
}

func (h *hub) rouse() {
	for i, c := range h.roused {
		c.roused = false
		c.rouse()
		h.roused[i] = nil
	}
	h.roused = h.roused[:0]
}

func (h *hub) attached(out *fsm.Output, c *conn) {
	if out.Outcome != fsm.Opened && out.Outcome != fsm.Renewed {
		reason, detail := pb.End_REASON_SESSION_ENDED, ""
		if out.Outcome == fsm.Refused {
			reason, detail = pb.End_REASON_PROTOCOL, "the lease or the client's name is out of bounds"
		}
		c.end(&pb.End{Reason: reason, Detail: detail})
		return
	}
	if out.Outcome == fsm.Opened {
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
	attached := &pb.Attached{Session: session.ID, LeaseMs: uint64(session.Lease / time.Millisecond)}
	for _, claim := range h.state.Claims(session.ID) {
		attached.Claims = append(attached.Claims, &pb.Claim{Seq: claim.Seq, Token: claim.Token})
	}
	h.routes[session.ID] = c
	c.attach(attached)
	h.stir(c)
}

// record writes the grants into the history.
func (h *hub) record(outputs []fsm.Output) {
	if h.recorder == nil || !h.serving {
		return
	}
	now := clock.Mono()
	for i := range outputs {
		out := &outputs[i]
		if out.Outcome != fsm.Granted {
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
			h.queue = append(h.queue, item{command: fsm.Command{Kind: fsm.KindExpire, Session: s.ID, Seen: s.Touched}})
			// Should the proposal get lost, it is made again a lease later.
			h.lifetime[s.ID] = lifetime{touched: s.Touched, deadline: now.Add(s.Lease)}
		}
	}
	for id := range h.lifetime {
		if _, lives := h.state.Session(id); !lives {
			delete(h.lifetime, id)
		}
	}
	h.fly()
}
