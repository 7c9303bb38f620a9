package explore

import (
	"slices"

	"locklab/locks/peerlock/peercore"
)

// MoveKind is a kind of thing that can happen next.
type MoveKind uint8

// The moves.
const (
	Request MoveKind = iota + 1 // a peer's application wants the lock
	Release                     // it releases
	GiveUp                      // it gives up waiting
	Wake                        // a pause is over
	Expire                      // a timer is over
	Deliver                     // the next message, or what became of the connection, arrives
	Cut                         // a link breaks
	Mend                        // a link that was down has a new connection
	Crash                       // a peer restarts without its memory
	Forget                      // a peer forgets the resource, which nobody wants there
)

func (k MoveKind) String() string {
	return [...]string{"?", "request", "release", "give up", "wake", "expire", "deliver", "cut", "mend", "crash", "forget"}[k]
}

// Move is one thing that can happen next.
type Move struct {
	Kind MoveKind
	Peer int8 // who moves, or receives, or one end of the link
	From int8 // Deliver: who sent; Cut, Mend: the other end
	// Index is in Deliver how many messages come before what arrives: it overtakes them,
	// or, if it is the news that the connection was lost, they were lost with it.
	Index uint8
	Timer peercore.Timer // Expire
}

// moves appends all that can happen next in the state of w.base.
func (w *world[S, M, P]) moves(out []Move) []Move {
	n := w.n
	rest := w.base[w.restField()].bytes
	for i := range n {
		out = w.peerMoves(i, rest, out)
		for j := range n {
			if j != i {
				out = w.deliveries(i, j, out)
			}
		}
	}
	return w.faultMoves(rest, out)
}

func (w *world[S, M, P]) peerMoves(i int, rest []byte, out []Move) []Move {
	p := w.base[i]
	peer := int8(i)
	switch {
	case p.holds:
		out = append(out, Move{Kind: Release, Peer: peer})
	case p.waits && rest[restGiveUps] != 0:
		out = append(out, Move{Kind: GiveUp, Peer: peer})
	case !p.waits && p.bytes[peerRequests] != 0:
		out = append(out, Move{Kind: Request, Peer: peer})
	}
	if p.idle && !p.gone && !p.waits && !p.holds && rest[restForgets] != 0 {
		out = append(out, Move{Kind: Forget, Peer: peer})
	}
	if w.hasControls && w.base[w.control(i)].timers&(1<<peercore.Recovery) != 0 && w.mayExpire(i, peercore.Recovery, rest) {
		out = append(out, Move{Kind: Expire, Peer: peer, Timer: peercore.Recovery})
	}
	if p.pauses {
		out = append(out, Move{Kind: Wake, Peer: peer})
	}
	for t := range peercore.Timers {
		if p.timers&(1<<t) != 0 && w.mayExpire(i, t, rest) {
			out = append(out, Move{Kind: Expire, Peer: peer, Timer: t})
		}
	}
	return out
}

// mayExpire says whether a timer that runs may be over, as far as the scope and the
// order of all timers allow.
func (w *world[S, M, P]) mayExpire(i int, t peercore.Timer, rest []byte) bool {
	switch t {
	case peercore.Lease:
		return rest[restExpiries] != 0 || w.awaited(i, rest)
	case peercore.Renew:
		return rest[restRenewals] != 0
	case peercore.Vote:
		for _, p := range w.base[:w.n] {
			if !w.scope.Untimed && p.uses != 0 && p.uses == w.base[i].voted {
				return false
			}
		}
		return true
	case peercore.Recovery:
		return w.scope.Untimed || rest[restPending+i] == 0
	default:
		return false
	}
}

// awaited says that a peer that lost its memory waits until the lease of i is over: that
// it comes to an end follows from the crash and costs nothing more.
func (w *world[S, M, P]) awaited(i int, rest []byte) bool {
	pending := rest[restPending:][:w.n]
	return slices.ContainsFunc(pending, func(leases byte) bool { return leases&(1<<i) != 0 })
}

// deliveries are those from i to j. Of the messages on a connection that was lost any
// number still arrives: the news can come at any moment, in place of the rest. What
// control states say, and what else is said, overtake each other, since the shell
// handles them side by side.
func (w *world[S, M, P]) deliveries(i, j int, out []Move) []Move {
	wire := w.base[w.wire(i, j)]
	message, control := false, false // whether some come before
	for k := range wire.ends {
		kind := wire.kindAt(k)
		news := isNews(kind)
		first := kind == itemMessage && !message || kind == itemControl && !control
		message, control = message || kind == itemMessage, control || kind == itemControl
		if first || news || w.scope.Reorder {
			out = append(out, Move{Kind: Deliver, Peer: int8(j), From: int8(i), Index: uint8(k)})
		}
		if news {
			break
		}
	}
	return out
}

func (w *world[S, M, P]) faultMoves(rest []byte, out []Move) []Move {
	for i := range w.n {
		if rest[restCrashes] > 0 {
			out = append(out, Move{Kind: Crash, Peer: int8(i)})
		}
		for j := range i {
			if rest[restCuts] > 0 && w.base[w.wire(j, i)].current() && w.base[w.wire(i, j)].current() {
				out = append(out, Move{Kind: Cut, Peer: int8(j), From: int8(i)})
			}
			if rest[restMends] != 0 && (!w.up(i, j) || !w.up(j, i)) {
				out = append(out, Move{Kind: Mend, Peer: int8(j), From: int8(i)})
			}
		}
	}
	return out
}

// up says that j believes in its connection to i, or will when all has arrived.
func (w *world[S, M, P]) up(i, j int) bool {
	wire := w.base[w.wire(i, j)]
	if k := wire.afterNews(); k > 0 {
		return wire.kindAt(k-1) == itemUp
	}
	return w.base[w.wire(j, i)].current()
}

// healed says that all are connected to all and know it.
func (w *world[S, M, P]) healed(state []*part) bool {
	return !slices.ContainsFunc(state[w.n:w.restField()], func(wire *part) bool { return !wire.current() })
}
