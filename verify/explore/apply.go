package explore

import (
	"encoding/binary"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/peers"
)

// apply makes next what the move makes of base.
func (w *world[S, M, P]) apply(m Move) {
	copy(w.next, w.base)
	i, j := int(m.Peer), int(m.From)
	switch m.Kind {
	case Request:
		w.count(i, peerRequests)
		w.step(i, peercore.Event[M]{Kind: peercore.Request})
	case GiveUp, Release:
		if m.Kind == GiveUp {
			w.count(w.restField(), restGiveUps)
		}
		w.step(i, peercore.Event[M]{Kind: peercore.Leave})
	case Wake:
		w.step(i, peercore.Event[M]{Kind: peercore.Wake})
	case Expire:
		w.expire(i, peercore.Event[M]{Kind: peercore.Expire, Timer: m.Timer})
	case Deliver:
		w.deliver(j, i, int(m.Index))
	case Cut:
		w.count(w.restField(), restCuts)
		w.lose(j, i)
		w.lose(i, j)
	case Mend:
		w.count(w.restField(), restMends)
		w.change(w.wire(i, j), func(b []byte) []byte { return append(b, itemUp) })
		w.change(w.wire(j, i), func(b []byte) []byte { return append(b, itemUp) })
	case Crash:
		w.crash(i)
	case Forget:
		w.count(w.restField(), restForgets)
		w.all.Forget(w.load(w.next[i], &w.peers[i]), &w.load(w.next[i], &w.probes[i]).State)
		w.save(i, w.next[i].bytes[peerRequests], w.next[i].bytes[peerPassed])
	}
	w.renumber()
}

// change makes a part of next what f makes of its bytes.
func (w *world[S, M, P]) change(field int, f func(b []byte) []byte) {
	w.buf = f(append(w.buf[:0], w.next[field].bytes...))
	w.keep(field)
}

// keep makes what is in buf a part of next.
func (w *world[S, M, P]) keep(field int) { w.next[field] = w.intern(field, w.buf) }

// count takes one from a count, unless it is any.
func (w *world[S, M, P]) count(field, at int) {
	w.change(field, func(b []byte) []byte {
		if b[at] != anyByte {
			b[at]--
		}
		return b
	})
}

// expire ends a timer. What is not counted follows from what was spent before.
func (w *world[S, M, P]) expire(i int, ev peercore.Event[M]) {
	rest := w.restField()
	switch {
	case ev.Timer == peercore.Lease && !w.awaited(i, w.next[rest].bytes):
		w.count(rest, restExpiries)
	case ev.Timer == peercore.Renew:
		w.count(rest, restRenewals)
	case ev.Timer == peercore.Recovery && w.hasControls:
		w.stepControl(i, ev)
		return
	}
	w.step(i, ev)
}

// load makes p the peer of a part.
func (w *world[S, M, P]) load(from *part, p *peers.Peer[S]) *peers.Peer[S] {
	client := from.bytes[peerClient]
	P(&p.State).Load(from.bytes[peerCore:])
	p.Client, p.Forgotten = peercore.Client(client&^goneFlag), client&goneFlag != 0
	return p
}

// save makes a peer a part of next.
func (w *world[S, M, P]) save(i int, requests, passed byte) {
	p := &w.peers[i]
	client := byte(p.Client)
	if p.Forgotten {
		client |= goneFlag
	}
	w.buf = P(&p.State).AppendEncode(append(w.buf[:0], requests, passed, client))
	w.keep(i)
}

func (w *world[S, M, P]) saveControl(i int) {
	if w.hasControls {
		w.buf = P(&w.peers[i].Control).AppendEncode(w.buf[:0])
		w.keep(w.control(i))
	}
}

// stepControl runs the control state of a peer.
func (w *world[S, M, P]) stepControl(i int, ev peercore.Event[M]) {
	if !w.hasControls {
		return
	}
	core := P(&w.peers[i].Control)
	core.Load(w.next[w.control(i)].bytes)
	ev.Round = w.next[i].round
	w.effects = peercore.Run[S, M, P](&w.all.Alg, &w.peers[i].Control, ev, w.effects[:0])
	w.saveControl(i)
	recovered, round := false, uint64(0)
	for _, e := range w.effects {
		if w.observe != nil {
			w.observe(i, e)
		}
		switch e.Kind {
		case peercore.Send:
			for j := range e.To.All() {
				w.send(i, j, itemControl, e.Msg)
			}
		case peercore.Recovered:
			recovered, round = true, e.Token
		default: // timers run or not by what Running says
		}
	}
	if recovered { // only now: it has effects of its own
		w.step(i, peercore.Event[M]{Kind: peercore.Recover, Round: round})
	}
}

// step runs one peer's core and does what follows from it.
func (w *world[S, M, P]) step(i int, ev peercore.Event[M]) {
	before := w.next[i]
	requests, passed := before.bytes[peerRequests], before.bytes[peerPassed]
	p := w.load(before, &w.peers[i])
	w.held = false
	w.all.Step(i, p, ev)
	if !p.Waits() {
		passed = 0
	}
	w.save(i, requests, passed)
	for j, q := range w.next[:w.n] { // i got the lock before all who wait
		if w.held && w.scope.Bypass > 0 && j != i && q.waits {
			w.change(j, func(b []byte) []byte {
				b[peerPassed]++
				return b
			})
		}
	}
	if w.timed && before.uses != 0 && w.next[i].uses != before.uses {
		w.pend(i, 0)
	}
}

// does carries out an effect. What is sent over a connection that is not the live one is
// lost. Timers run or not by what Running says.
func (w *world[S, M, P]) does(i int, e *peercore.Effect[M], _ peercore.Client) {
	if w.observe != nil {
		w.observe(i, *e)
	}
	switch e.Kind { //nolint:exhaustive // timers run or not by what Running says
	case peercore.Send:
		for j := range e.To.All() {
			w.send(i, j, itemMessage, e.Msg)
		}
	case peercore.Hold:
		w.held = true
		w.noteToken(e.Token)
	}
}

// noteToken keeps the highest token that was given.
func (w *world[S, M, P]) noteToken(token uint64) {
	if !w.tokens || token == 0 {
		return
	}
	w.change(w.restField(), func(b []byte) []byte {
		at := restPending + w.n
		if highest, _ := binary.Uvarint(b[at:]); peers.Stale(token, highest) {
			return append(b, tokenBack)
		}
		return binary.AppendUvarint(b[:at], token)
	})
}

func (w *world[S, M, P]) send(i, j int, kind byte, m M) {
	if field := w.wire(i, j); w.next[field].current() {
		w.change(field, func(b []byte) []byte { return w.all.Alg.Append(append(b, kind), m) })
	}
}

// deliver lets an item from i arrive at j, the first or a later one.
func (w *world[S, M, P]) deliver(i, j, index int) {
	wire := w.next[w.wire(i, j)]
	item, before := wire.item(index), wire.start(index)
	if item[0] == itemDown {
		before = wire.start(0)
	}
	w.change(w.wire(i, j), func(b []byte) []byte { return append(b[:before], wire.bytes[wire.ends[index]:]...) })
	ev := peercore.Event[M]{Kind: peercore.Receive, Peer: i}
	if !isNews(item[0]) {
		ev.Msg, _ = w.decode(item[1:])
		if item[0] == itemControl {
			w.stepControl(j, ev)
		} else {
			w.step(j, ev)
		}
		return
	}
	live := byte(0)
	if ev.Kind = peercore.Disconnect; item[0] == itemUp {
		ev.Kind, live = peercore.Connect, 1
	}
	w.change(w.wire(j, i), func(b []byte) []byte { // its end is live, or not
		b[0] = live
		return b
	})
	w.step(j, ev)
	w.stepControl(j, ev)
}

// lose ends the connection from i to j.
func (w *world[S, M, P]) lose(i, j int) {
	w.change(w.wire(i, j), func(b []byte) []byte {
		b[0] = 0
		return append(b, itemDown)
	})
}

// crash replaces peer i by a new incarnation that is connected to nobody.
func (w *world[S, M, P]) crash(i int) {
	w.count(w.restField(), restCrashes)
	for j := range w.n {
		if j == i {
			continue
		}
		w.sever(i, j)
		w.change(w.wire(j, i), func(b []byte) []byte { return append(b[:0], 0) })
	}
	old, fresh := w.load(w.next[i], &w.probes[i]), &w.peers[i]
	P(&fresh.State).Load(w.restarts[i][0])
	if w.hasControls {
		P(&fresh.Control).Load(w.restarts[i][1])
	}
	w.all.Restart(old, fresh)
	w.save(i, w.next[i].bytes[peerRequests], 0)
	w.saveControl(i)
	if w.timed {
		w.pend(i, w.base[i].voted)
	}
}

// sever ends what i had of a connection to j. A connection that j has not noticed yet never comes to be.
func (w *world[S, M, P]) sever(i, j int) {
	wire := w.next[w.wire(i, j)]
	w.change(w.wire(i, j), func(b []byte) []byte {
		b[0] = 0
		switch news := wire.afterNews(); {
		case news > 0 && wire.kindAt(news-1) == itemUp:
			return b[:wire.start(news-1)]
		case news == 0 && w.next[w.wire(j, i)].current():
			return append(b, itemDown)
		}
		return b
	})
}

// pend notes that i uses no more what it used, and, if it gave a vote before it crashed, whose lease relies
// on that: its recovery waits for those, beside others of earlier crashes.
func (w *world[S, M, P]) pend(i int, voted uint64) {
	w.change(w.restField(), func(b []byte) []byte {
		for j := range w.n {
			b[restPending+j] &^= 1 << i
			if j != i && voted != 0 && w.next[j].uses == voted {
				b[restPending+i] |= 1 << j
			}
		}
		return b
	})
}
