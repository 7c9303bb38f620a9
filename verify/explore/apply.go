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
		w.edit(i)[peerRequests] = less(w.next[i].bytes[peerRequests])
		w.keep(i)
		w.step(i, peercore.Event[M]{Kind: peercore.Request})
	case Release:
		w.step(i, peercore.Event[M]{Kind: peercore.Leave})
	case GiveUp:
		w.spend(restGiveUps)
		w.step(i, peercore.Event[M]{Kind: peercore.Leave})
	case Wake:
		w.step(i, peercore.Event[M]{Kind: peercore.Wake})
	case Expire:
		w.expire(i, m.Timer)
	case Deliver:
		w.deliver(j, i, int(m.Index))
	case Cut:
		w.spend(restCuts)
		w.lose(j, i)
		w.lose(i, j)
	case Mend:
		w.spend(restMends)
		w.put(i, j, itemUp)
		w.put(j, i, itemUp)
	case Crash:
		w.crash(i)
	case Forget:
		w.spend(restForgets)
		w.forget(i)
	}
	w.renumber()
}

// spend takes one from a count of the rest.
func (w *world[S, M, P]) spend(count int) {
	field := w.restField()
	w.edit(field)[count] = less(w.next[field].bytes[count])
	w.keep(field)
}

// edit gives the bytes of a part of next, to be changed; keep makes them that part.
func (w *world[S, M, P]) edit(field int) []byte {
	w.buf = append(w.buf[:0], w.next[field].bytes...)
	return w.buf
}

func (w *world[S, M, P]) keep(field int) { w.next[field] = w.intern(field, w.buf) }

func (w *world[S, M, P]) expire(i int, t peercore.Timer) {
	switch t {
	case peercore.Lease:
		if !w.awaited(i, w.next[w.restField()].bytes) {
			w.spend(restExpiries)
		}
	case peercore.Renew:
		w.spend(restRenewals)
	default: // follows from what was spent before
	}
	if t == peercore.Recovery && w.hasControls {
		w.stepControl(i, peercore.Event[M]{Kind: peercore.Expire, Timer: t})
		return
	}
	w.step(i, peercore.Event[M]{Kind: peercore.Expire, Timer: t})
}

// forget has a peer forget a resource that nobody wants.
func (w *world[S, M, P]) forget(i int) {
	p := w.load(w.next[i], &w.peers[i])
	w.all.Forget(p, &w.load(w.next[i], &w.probes[i]).State)
	w.save(i, w.next[i].bytes[peerRequests], w.next[i].bytes[peerPassed])
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
	if w.held && w.scope.Bypass > 0 {
		w.countPass(i)
	}
	if w.timed && before.uses != 0 && w.next[i].uses != before.uses {
		w.unpend(i)
	}
}

// does carries out an effect. What is sent over a connection that is not the live one is
// lost. Timers run or not by what Running says.
func (w *world[S, M, P]) does(i int, e *peercore.Effect[M], _ peercore.Client) {
	if w.observe != nil {
		w.observe(i, *e)
	}
	switch {
	case e.Kind == peercore.Send:
		for j := range e.To.All() {
			w.send(i, j, itemMessage, e.Msg)
		}
	case e.Kind == peercore.Hold:
		w.held = true
		w.noteToken(e.Token)
	}
}

// noteToken keeps the highest token that was given.
func (w *world[S, M, P]) noteToken(token uint64) {
	if !w.tokens || token == 0 {
		return
	}
	field := w.restField()
	at := restPending + w.n
	highest, _ := binary.Uvarint(w.next[field].bytes[at:])
	if w.edit(field); peers.Stale(token, highest) {
		w.buf = append(w.buf, tokenBack)
	} else {
		w.buf = binary.AppendUvarint(w.buf[:at], token)
	}
	w.keep(field)
}

func (w *world[S, M, P]) send(i, j int, kind byte, m M) {
	field := w.wire(i, j)
	if w.next[field].current() {
		w.buf = w.all.Alg.Append(append(w.edit(field), kind), m)
		w.keep(field)
	}
}

// put appends news to the wire from i to j.
func (w *world[S, M, P]) put(i, j int, news byte) {
	field := w.wire(i, j)
	w.buf = append(w.edit(field), news)
	w.keep(field)
}

// countPass notes that i got the lock before all who wait.
func (w *world[S, M, P]) countPass(i int) {
	for j := range w.n {
		if p := w.next[j]; j != i && p.waits {
			w.edit(j)[peerPassed]++
			w.keep(j)
		}
	}
}

// setCurrent says whether i's end of its connection to j is live.
func (w *world[S, M, P]) setCurrent(i, j int, live byte) {
	field := w.wire(i, j)
	w.edit(field)[0] = live
	w.keep(field)
}

// deliver lets a item from i arrive at j, the first or a later one.
func (w *world[S, M, P]) deliver(i, j, index int) {
	field := w.wire(i, j)
	wire := w.next[field]
	item := wire.item(index)
	before := wire.start(index)
	if item[0] == itemDown {
		before = wire.start(0)
	}
	w.buf = append(w.edit(field)[:before], wire.bytes[wire.ends[index]:]...)
	w.keep(field)
	switch item[0] {
	case itemDown:
		w.setCurrent(j, i, 0)
		w.step(j, peercore.Event[M]{Kind: peercore.Disconnect, Peer: i})
		w.stepControl(j, peercore.Event[M]{Kind: peercore.Disconnect, Peer: i})
	case itemUp:
		w.setCurrent(j, i, 1)
		w.step(j, peercore.Event[M]{Kind: peercore.Connect, Peer: i})
		w.stepControl(j, peercore.Event[M]{Kind: peercore.Connect, Peer: i})
	case itemControl:
		m, _ := w.decode(item[1:])
		w.stepControl(j, peercore.Event[M]{Kind: peercore.Receive, Peer: i, Msg: m})
	default:
		m, _ := w.decode(item[1:])
		w.step(j, peercore.Event[M]{Kind: peercore.Receive, Peer: i, Msg: m})
	}
}

// lose ends the connection from i to j.
func (w *world[S, M, P]) lose(i, j int) {
	field := w.wire(i, j)
	w.buf = append(w.edit(field), itemDown)
	w.buf[0] = 0
	w.keep(field)
}

// crash replaces peer i by a new incarnation that is connected to nobody.
func (w *world[S, M, P]) crash(i int) {
	w.spend(restCrashes)
	for j := range w.n {
		if j == i {
			continue
		}
		w.sever(i, j)
		field := w.wire(j, i)
		w.buf = append(w.buf[:0], 0)
		w.keep(field)
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
		w.unpend(i)
		w.pend(i)
	}
}

// sever ends what i had of a connection to j. A connection that j has not noticed yet
// never comes to be.
func (w *world[S, M, P]) sever(i, j int) {
	field := w.wire(i, j)
	wire := w.next[field]
	w.edit(field)
	switch news := wire.afterNews(); {
	case news > 0 && wire.kindAt(news-1) == itemUp:
		w.buf = w.buf[:wire.start(news-1)]
	case news == 0 && w.next[w.wire(j, i)].current():
		w.buf = append(w.buf, itemDown)
	}
	w.buf[0] = 0
	w.keep(field)
}

// pend notes whose lease relies on the vote that i gave before it crashed. What others
// of earlier crashes it waits for stays.
func (w *world[S, M, P]) pend(i int) {
	voted := w.base[i].voted
	field := w.restField()
	w.edit(field)
	for j := range w.n {
		if j != i && voted != 0 && w.next[j].uses == voted {
			w.buf[restPending+i] |= 1 << j
		}
	}
	w.keep(field)
}

// unpend notes that i does not use any more what it used.
func (w *world[S, M, P]) unpend(i int) {
	field := w.restField()
	w.edit(field)
	for k := range w.n {
		w.buf[restPending+k] &^= 1 << i
	}
	w.keep(field)
}
