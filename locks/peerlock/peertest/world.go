package peertest

import (
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// Core is a pure core as an exploration needs it: P is a pointer to its state S, M
// is its message.
type Core[S, M any] interface {
	*S
	Step(ev peercore.Event[M], out []peercore.Effect[M]) []peercore.Effect[M]
	Clone() S
	AppendEncode(b []byte) []byte
	Waits() bool
	Holds() bool
	Idle() bool
}

// pauser is a core that asks for pauses.
type pauser interface{ Pauses() bool }

// Scope bounds an exploration: every interleaving of what the peers may do, of
// deliveries and of faults at any moment, is visited once.
type Scope[S, M any] struct {
	New    func(self int, peers peercore.Set) S
	Append func(b []byte, m M) []byte // encodes a message

	Peers    int
	Requests []int    // how often each peer asks for the lock; -1 is any number of times
	GiveUps  int      // how often anybody gives up while waiting
	Cuts     [][2]int // links that break, in this order
	Mends    int      // how often a link that is down comes back
	Crashes  []int    // peers that restart without their memory, in this order
	Forming  bool     // start with no connection, in place of all

	// Renumber makes worlds the same that differ in nothing but numbers that do not
	// matter. May be nil.
	Renumber func(peers []S, each func(f func(from, to int, m *M)))
	// StatesMax ends an exploration that grows too large; zero does not.
	StatesMax int
}

// token is what travels on a wire: a message, or the news that the connection was
// lost or made, which come in order with the messages.
type token[M any] struct {
	kind byte // 'm', 'd' (down), 'u' (up)
	msg  M
}

// World is one state of the whole system.
type World[S, M any, P Core[S, M]] struct {
	scope    *Scope[S, M]
	peers    []S
	wires    [][]token[M] // FIFO from i to j at [i*n+j]
	current  []bool       // i's end of its connection to j is the live one, at [i*n+j]
	requests []int
	giveUps  int
	cuts     int // which of Scope.Cuts come next
	crashes  int
	mends    int
	sent     int // messages so far; not part of the state
}

// NewWorld is where an exploration of the scope begins.
func NewWorld[S, M any, P Core[S, M]](sc *Scope[S, M]) *World[S, M, P] {
	n := sc.Peers
	w := &World[S, M, P]{
		scope: sc, wires: make([][]token[M], n*n), current: make([]bool, n*n),
		requests: slices.Clone(sc.Requests), giveUps: sc.GiveUps, mends: sc.Mends,
	}
	for i := range n {
		w.peers = append(w.peers, w.fresh(i))
	}
	for i := range n {
		for j := range n {
			if i != j && !sc.Forming {
				P(&w.peers[i]).Step(peercore.Event[M]{Kind: peercore.Connect, Peer: j}, nil)
				w.current[i*n+j] = true
			}
		}
	}
	return w
}

func (w *World[S, M, P]) fresh(rank int) S {
	var others peercore.Set
	for j := range w.scope.Peers {
		if j != rank {
			others = others.With(j)
		}
	}
	return w.scope.New(rank, others)
}

// Sent is the number of messages that were sent on the way here.
func (w *World[S, M, P]) Sent() int { return w.sent }

// Peer is the state of one peer.
func (w *World[S, M, P]) Peer(i int) P { return P(&w.peers[i]) }

func (w *World[S, M, P]) clone() *World[S, M, P] {
	c := *w
	c.peers = make([]S, len(w.peers))
	for i := range w.peers {
		c.peers[i] = P(&w.peers[i]).Clone()
	}
	c.wires = make([][]token[M], len(w.wires))
	for i := range w.wires {
		c.wires[i] = slices.Clone(w.wires[i])
	}
	c.current = slices.Clone(w.current)
	c.requests = slices.Clone(w.requests)
	return &c
}

func (w *World[S, M, P]) encode(b []byte) []byte {
	for i := range w.peers {
		b = P(&w.peers[i]).AppendEncode(b)
		b = append(b, byte(w.requests[i]))
	}
	for i, wire := range w.wires {
		b = append(b, byte(len(wire)))
		if w.current[i] {
			b = append(b, 'c')
		}
		for _, t := range wire {
			b = append(b, t.kind)
			if t.kind == 'm' {
				b = w.scope.Append(b, t.msg)
			}
		}
	}
	return append(b, byte(w.giveUps), byte(w.cuts), byte(w.crashes), byte(w.mends))
}

// renumber applies Scope.Renumber.
func (w *World[S, M, P]) renumber() {
	if w.scope.Renumber == nil {
		return
	}
	w.scope.Renumber(w.peers, func(f func(from, to int, m *M)) {
		n := len(w.peers)
		for i, wire := range w.wires {
			for k := range wire {
				if wire[k].kind == 'm' {
					f(i/n, i%n, &wire[k].msg)
				}
			}
		}
	})
}

// step runs one peer's core and puts what it sends on the wires. What is sent over
// a connection that is not the live one is lost.
func (w *World[S, M, P]) step(i int, ev peercore.Event[M]) {
	n := len(w.peers)
	for _, e := range P(&w.peers[i]).Step(ev, nil) {
		for j := range e.To.All() {
			w.sent++
			if w.current[i*n+j] {
				w.wires[i*n+j] = append(w.wires[i*n+j], token[M]{kind: 'm', msg: e.Msg})
			}
		}
	}
}

// Move is one thing that can happen next.
type Move[S, M any, P Core[S, M]] struct {
	Name string
	Next *World[S, M, P]
}

// Moves is all that can happen next.
func (w *World[S, M, P]) Moves() []Move[S, M, P] {
	var moves []Move[S, M, P]
	add := func(next *World[S, M, P], format string, args ...any) {
		next.renumber()
		moves = append(moves, Move[S, M, P]{fmt.Sprintf(format, args...), next})
	}
	n := len(w.peers)
	for i := range n {
		p := P(&w.peers[i])
		switch {
		case p.Holds():
			c := w.clone()
			c.step(i, peercore.Event[M]{Kind: peercore.Leave})
			add(c, "%d releases", i)
		case p.Waits() && w.giveUps > 0:
			c := w.clone()
			c.giveUps--
			c.step(i, peercore.Event[M]{Kind: peercore.Leave})
			add(c, "%d gives up", i)
		case !p.Waits() && w.requests[i] != 0:
			c := w.clone()
			c.requests[i] = max(c.requests[i]-1, -1)
			c.step(i, peercore.Event[M]{Kind: peercore.Request})
			add(c, "%d requests", i)
		}
		if q, ok := any(p).(pauser); ok && q.Pauses() {
			c := w.clone()
			c.step(i, peercore.Event[M]{Kind: peercore.Wake})
			add(c, "%d wakes", i)
		}
		for j := range n {
			if len(w.wires[i*n+j]) > 0 {
				name, c := w.deliver(i, j)
				add(c, "%s", name)
			}
		}
	}
	w.faults(add)
	return moves
}

func (w *World[S, M, P]) deliver(i, j int) (string, *World[S, M, P]) {
	n := len(w.peers)
	c := w.clone()
	t := c.wires[i*n+j][0]
	c.wires[i*n+j] = slices.Delete(c.wires[i*n+j], 0, 1)
	switch t.kind {
	case 'd':
		c.step(j, peercore.Event[M]{Kind: peercore.Disconnect, Peer: i})
		return fmt.Sprintf("%d loses %d", j, i), c
	case 'u':
		c.current[j*n+i] = true
		c.step(j, peercore.Event[M]{Kind: peercore.Connect, Peer: i})
		return fmt.Sprintf("%d connects to %d", j, i), c
	}
	c.step(j, peercore.Event[M]{Kind: peercore.Receive, Peer: i, Msg: t.msg})
	return fmt.Sprintf("%d -> %d: %v", i, j, t.msg), c
}

// TwoHold says that the lock is held twice.
func (w *World[S, M, P]) TwoHold() bool {
	holders := 0
	for i := range w.peers {
		if P(&w.peers[i]).Holds() {
			holders++
		}
	}
	return holders > 1
}

// SomebodyWaits says that a peer wants the lock and does not hold it.
func (w *World[S, M, P]) SomebodyWaits() bool {
	for i := range w.peers {
		if P(&w.peers[i]).Waits() {
			return true
		}
	}
	return false
}

// Idle says that no peer remembers anything.
func (w *World[S, M, P]) Idle() bool {
	for i := range w.peers {
		if !P(&w.peers[i]).Idle() {
			return false
		}
	}
	return true
}
