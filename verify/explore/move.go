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
)

// Move is one thing that can happen next.
type Move struct {
	Kind MoveKind
	Peer int8 // the one that moves, or receives, or one end of the link
	From int8 // Deliver: the sender; Cut, Mend: the other end
	// Index is in Deliver how many messages come before what arrives: it overtakes them,
	// or, if it is the news that the connection was lost, they were lost with it.
	Index uint8
	Timer peercore.Timer // Expire
}

// moves appends all that can happen next.
func (w *world[S, M, P]) moves(out []Move) []Move {
	for i := range w.n {
		out = w.peerMoves(i, out)
		for j := range w.n {
			out = w.deliveries(i, j, out)
		}
	}
	return w.faultMoves(out)
}

func (w *world[S, M, P]) peerMoves(i int, out []Move) []Move {
	p, peer := &w.peers[i], int8(i)
	switch {
	case p.Holds():
		out = append(out, Move{Kind: Release, Peer: peer})
	case p.Waits() && w.left[giveUps] != 0:
		out = append(out, Move{Kind: GiveUp, Peer: peer})
	case !p.Waits() && p.requests != 0:
		out = append(out, Move{Kind: Request, Peer: peer})
	}
	if core, pauses := any(P(&p.State)).(peercore.Pauser); pauses && core.Pauses() {
		out = append(out, Move{Kind: Wake, Peer: peer})
	}
	if core, timed := any(P(&p.State)).(peercore.Timed); timed {
		for t := range peercore.Timers {
			if core.Running(t) && w.mayExpire(i, t) {
				out = append(out, Move{Kind: Expire, Peer: peer, Timer: t})
			}
		}
	}
	return out
}

// mayExpire says whether a timer that runs may be over, as far as the scope and the
// order of all timers allow.
func (w *world[S, M, P]) mayExpire(i int, t peercore.Timer) bool {
	switch t {
	case peercore.Lease:
		return w.left[expiries] != 0
	case peercore.Renew:
		return w.left[renewals] != 0
	default: // Vote
		for j := range w.n {
			if uses := w.timer(j).Uses(); !w.scope.Untimed && uses != 0 && uses == w.timer(i).Voted() {
				return false
			}
		}
		return true
	}
}

func (w *world[S, M, P]) timer(i int) peercore.Timed {
	return any(P(&w.peers[i].State)).(peercore.Timed)
}

// deliveries are those from i to j. Of the messages on a connection that was lost any
// number still arrives: the news can come at any moment, in place of the rest.
func (w *world[S, M, P]) deliveries(i, j int, out []Move) []Move {
	for k, it := range w.wire(i, j).items {
		if k == 0 || it.news() || w.scope.Reorder {
			out = append(out, Move{Kind: Deliver, Peer: int8(j), From: int8(i), Index: uint8(k)})
		}
		if it.news() {
			break
		}
	}
	return out
}

func (w *world[S, M, P]) faultMoves(out []Move) []Move {
	for i := range w.n {
		if w.left[crashes] > 0 {
			out = append(out, Move{Kind: Crash, Peer: int8(i)})
		}
		for j := range i {
			if w.left[cuts] > 0 && w.wire(j, i).live && w.wire(i, j).live {
				out = append(out, Move{Kind: Cut, Peer: int8(j), From: int8(i)})
			}
			if w.left[mends] != 0 && (!w.up(i, j) || !w.up(j, i)) {
				out = append(out, Move{Kind: Mend, Peer: int8(j), From: int8(i)})
			}
		}
	}
	return out
}

// up says that j believes in its connection to i, or will when all has arrived.
func (w *world[S, M, P]) up(i, j int) bool {
	wire := w.wire(i, j)
	if k := wire.afterNews(); k > 0 {
		return wire.items[k-1].kind == itemUp
	}
	return w.wire(j, i).live
}

// afterNews is the index of the first item after which there is no more news.
func (wire *wire[M]) afterNews() int {
	for k := len(wire.items); k > 0; k-- {
		if wire.items[k-1].news() {
			return k
		}
	}
	return 0
}

// apply makes a move.
func (w *world[S, M, P]) apply(m Move) {
	i, j := int(m.Peer), int(m.From)
	switch m.Kind {
	case Request:
		spend(&w.peers[i].requests)
		w.take(i, peercore.Event[M]{Kind: peercore.Request})
	case GiveUp:
		spend(&w.left[giveUps])
		w.take(i, peercore.Event[M]{Kind: peercore.Leave})
	case Release:
		w.take(i, peercore.Event[M]{Kind: peercore.Leave})
	case Wake:
		w.take(i, peercore.Event[M]{Kind: peercore.Wake})
	case Expire:
		switch m.Timer { //nolint:exhaustive // others follow from what was spent before
		case peercore.Lease:
			spend(&w.left[expiries])
		case peercore.Renew:
			spend(&w.left[renewals])
		}
		w.take(i, peercore.Event[M]{Kind: peercore.Expire, Timer: m.Timer})
	case Deliver:
		w.deliver(j, i, int(m.Index))
	case Cut:
		spend(&w.left[cuts])
		for _, wire := range []*wire[M]{w.wire(i, j), w.wire(j, i)} {
			wire.live, wire.items = false, append(wire.items, item[M]{kind: itemDown})
		}
	case Mend:
		spend(&w.left[mends])
		for _, wire := range []*wire[M]{w.wire(i, j), w.wire(j, i)} {
			wire.items = append(wire.items, item[M]{kind: itemUp})
		}
	case Crash:
		w.crash(i)
	}
	w.renumber()
}

// spend takes one from a count, unless it is any.
func spend(left *byte) {
	if *left != anyByte {
		*left--
	}
}

// take has one peer's core take an event and does what follows from it.
func (w *world[S, M, P]) take(i int, ev peercore.Event[M]) {
	p := &w.peers[i]
	w.toldHold = false
	w.all.Step(i, &p.Peer, ev)
	if !p.Waits() {
		p.passed = 0
	}
	for j := range w.peers { // i got the lock before all that wait
		if q := &w.peers[j]; w.toldHold && w.scope.Bypass > 0 && j != i && q.Waits() {
			q.passed++
		}
	}
}

// deliver lets an item from i arrive at j, the first or a later one.
func (w *world[S, M, P]) deliver(i, j, index int) {
	wire := w.wire(i, j)
	it, first := wire.items[index], index
	if it.kind == itemDown {
		first = 0
	}
	wire.items = slices.Delete(wire.items, first, index+1)
	ev := peercore.Event[M]{Kind: peercore.Receive, Peer: i, Msg: it.msg}
	if it.news() {
		ev.Kind = map[byte]peercore.EventKind{itemDown: peercore.Disconnect, itemUp: peercore.Connect}[it.kind]
		w.wire(j, i).live = it.kind == itemUp
	}
	w.take(j, ev)
}

// crash replaces peer i by a new process that is connected to nobody.
func (w *world[S, M, P]) crash(i int) {
	w.left[crashes]--
	for j := range w.n {
		if j != i {
			w.sever(i, j)
			*w.wire(j, i) = wire[M]{items: w.wire(j, i).items[:0]}
		}
	}
	p := &w.peers[i]
	p.Peer, p.passed = w.all.Restart(i, &p.Peer), 0
}

// sever ends what i had of a connection to j. A connection that j has not noticed yet never comes to be.
func (w *world[S, M, P]) sever(i, j int) {
	wire := w.wire(i, j)
	wire.live = false
	switch news := wire.afterNews(); {
	case news > 0 && wire.items[news-1].kind == itemUp:
		wire.items = wire.items[:news-1]
	case news == 0 && w.wire(j, i).live:
		wire.items = append(wire.items, item[M]{kind: itemDown})
	}
}
