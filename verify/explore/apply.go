package explore

import (
	"encoding/binary"

	"locklab/locks/peerlock/peercore"
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
	case Tick:
		w.tick()
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
	if w.hasClock {
		w.setClock(i*clockPeer+int(t), timerOff)
		if t == peercore.Lease && w.scope.Clock.Impatient && w.base[i].waits {
			w.step(i, peercore.Event[M]{Kind: peercore.Leave})
			return
		}
	}
	switch t {
	case peercore.Lease:
		if !w.hasClock && !w.awaited(i, w.next[w.restField()].bytes) {
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

// forget makes a resource that nobody wants one that the peer keeps nothing of but the
// number that a new state starts above. Nothing happens to it, but for connections and
// the end of a recovery, until somebody wants it or asks for it.
func (w *world[S, M, P]) forget(i int) {
	before := w.next[i]
	like, core := P(&w.peersProbe[i]), P(&w.peers[i])
	like.Load(before.bytes[peerCore:])
	core.Reset(&w.peersProbe[i], like.Round())
	w.edit(i)[peerClient] |= goneFlag
	w.buf = core.AppendEncode(w.buf[:peerCore])
	w.keep(i)
}

// stepControl runs the control state of a peer.
func (w *world[S, M, P]) stepControl(i int, ev peercore.Event[M]) {
	if !w.hasControls {
		return
	}
	field := w.control(i)
	core := P(&w.controls[i])
	core.Load(w.next[field].bytes)
	ev.Round = w.next[i].round
	w.effects = peercore.Run[S, M, P](&w.alg, core, ev, w.effects[:0])
	w.buf = core.AppendEncode(w.buf[:0])
	w.keep(field)
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

// step runs one peer's core and puts what it sends on the wires. What is sent over a
// connection that is not the live one is lost.
func (w *world[S, M, P]) step(i int, ev peercore.Event[M]) {
	before := w.next[i]
	requests, passed := before.bytes[peerRequests], before.bytes[peerPassed]
	client := peercore.Client(before.bytes[peerClient] &^ goneFlag).Does(ev.Kind)
	gone := before.gone && ev.Kind != peercore.Request && (ev.Kind != peercore.Receive || !w.alg.Opens(ev.Msg))
	if gone && ev.Kind == peercore.Receive {
		return
	}
	core := P(&w.peers[i])
	core.Load(before.bytes[peerCore:])
	w.effects = peercore.Run[S, M, P](&w.alg, core, ev, w.effects[:0])
	flag := byte(0)
	if gone { // there is nobody who would carry out anything
		w.effects, flag = w.effects[:0], goneFlag
	}
	held := false
	for _, e := range w.effects {
		if w.observe != nil {
			w.observe(i, e)
		}
		client = client.Hears(e.Kind)
		switch e.Kind {
		case peercore.Send:
			for j := range e.To.All() {
				w.send(i, j, itemMessage, e.Msg)
			}
		case peercore.Hold:
			held = true
			w.noteToken(e.Token)
		case peercore.Start:
			if w.hasClock {
				w.startTimer(i, e.Timer)
			}
		case peercore.Stop:
			if w.hasClock {
				w.setClock(i*clockPeer+int(e.Timer), timerOff)
			}
		default: // without a clock, timers run or not by what Running says
		}
	}
	if client != peercore.ClientWaits {
		passed = 0
	}
	w.buf = core.AppendEncode(append(w.buf[:0], requests, passed, byte(client)|flag))
	w.keep(i)
	if held && w.scope.Bypass > 0 {
		w.countPass(i)
	}
	if w.timed && before.uses != 0 && w.next[i].uses != before.uses {
		w.unpend(i)
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
	if w.edit(field); token > highest {
		w.buf = binary.AppendUvarint(w.buf[:at], token)
	} else {
		w.buf = append(w.buf, tokenBack)
	}
	w.keep(field)
}

func (w *world[S, M, P]) send(i, j int, kind byte, m M) {
	field := w.wire(i, j)
	if w.next[field].current() {
		w.buf = w.alg.Append(append(w.edit(field), kind), m)
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
	flag := byte(0)
	if w.hasControls { // it starts with its control state, and no resource at all
		flag = goneFlag
		w.next[w.control(i)] = w.intern(w.control(i), w.restarts[i])
	}
	w.buf = w.restarted(i, append(w.buf[:0], w.next[i].bytes[peerRequests], 0, byte(peercore.ClientIdle)|flag))
	w.keep(i)
	if w.timed {
		w.unpend(i)
		w.pend(i)
	}
	if w.hasClock {
		w.bootClock(i, !w.durable)
	}
}

// restarted appends the state of a new incarnation: with what the old one had on disk, if
// the core keeps anything there.
func (w *world[S, M, P]) restarted(i int, b []byte) []byte {
	if !w.durable {
		return append(b, w.amnesic[i]...)
	}
	P(&w.peersProbe[i]).Load(w.next[i].bytes[peerCore:])
	P(&w.peers[i]).Load(w.newborn[i])
	peercore.Restart[S, M, P](&w.alg, &w.peersProbe[i], &w.peers[i])
	return P(&w.peers[i]).AppendEncode(b)
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
