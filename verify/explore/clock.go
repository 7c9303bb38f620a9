package explore

import (
	"time"

	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

const (
	clockSince = int(peercore.Timers) // after the timers of a peer
	clockPeer  = clockSince + 1       // bytes for each peer
	timerOff   = 255
)

// setClock changes one byte of the clock.
func (w *world[S, M, P]) setClock(at int, to byte) {
	field := w.clockField()
	w.edit(field)[at] = to
	w.keep(field)
}

// firstClock is the clock at the beginning.
func (w *world[S, M, P]) firstClock() {
	w.buf = append(make([]byte, w.n*clockPeer), byte(w.scope.Clock.Ticks))
	w.keep(w.clockField())
	for i := range w.n {
		w.bootClock(i, w.scope.Newborn)
	}
}

// bootClock is that of a new process.
func (w *world[S, M, P]) bootClock(i int, amnesic bool) {
	for t := range clockPeer {
		w.setClock(i*clockPeer+t, timerOff)
	}
	w.setClock(i*clockPeer+clockSince, 0)
	if amnesic {
		w.setClock(i*clockPeer+int(peercore.Recovery), byte(w.scope.Clock.Takes(peercore.Recovery)))
	}
}

// startTimer starts a timer as the shell does. It is zero now.
func (w *world[S, M, P]) startTimer(i int, t peercore.Timer) {
	since := i*clockPeer + clockSince
	asked := -time.Duration(w.next[w.clockField()].bytes[since])
	from := peerlock.CountsFrom(t, &asked, 0)
	w.setClock(since, byte(-asked))
	w.setClock(i*clockPeer+int(t), byte(from+w.scope.Clock.Takes(t)))
}

// left is how long a timer still runs.
func (w *world[S, M, P]) left(state []*part, i int, t peercore.Timer) byte {
	return state[w.clockField()].bytes[i*clockPeer+int(t)]
}

// mayTick says that a tick is left and no lease ends now: its owner notices in time.
func (w *world[S, M, P]) mayTick() bool {
	for i := range w.n {
		if w.left(w.base, i, peercore.Lease) == 0 {
			return false
		}
	}
	return w.base[w.clockField()].bytes[w.n*clockPeer] > 0
}

func (w *world[S, M, P]) tick() {
	field := w.clockField()
	for i, b := range w.edit(field) {
		switch {
		case i < w.n*clockPeer && i%clockPeer == clockSince:
			w.buf[i] = min(b+1, byte(w.scope.Clock.TTL))
		case b > 0 && b != timerOff: // the ticks that are left, too
			w.buf[i]--
		}
	}
	w.keep(field)
}

// unmatched says that the timers that run are not those that were started.
func (w *world[S, M, P]) unmatched(state []*part) bool {
	for i, p := range state[:w.n] {
		for t := range peercore.Timers {
			if (p.timers&(1<<t) != 0) != (w.left(state, i, t) != timerOff) {
				return true
			}
		}
	}
	return false
}
