package redlock

import (
	"math/bits"
	"time"
)

// This file is what the machine is tested in: clients, instances, and what is on the way
// between them. Everything that can come next is in core_explore_test.go, random lives in
// which time passes are in core_rapid_test.go.

// packet is a command or an answer on its way.
type packet struct {
	client, instance int
	kind             effectKind // effSet, effExtend or effDelete
	reply            bool
	answer           Answer
	forgotten        bool // a command whose sender was told "unknown" already
	repeated         bool // a deletion that is sent again, as it had no answer
}

// key is what an instance has: the token of client-1, until a time.
type key struct {
	client int
	until  time.Duration
}

type world struct {
	clients []machine
	clocks  []time.Duration // of the clients
	alarms  []time.Duration // when each client is to be told the time; 0: never
	keys    []key           // per instance
	back    []time.Duration // per instance: when it answers again, after it lost its memory
	now     time.Duration   // by the instances' clocks
	packets []packet
	found   []uint // the instances at which a deletion of each client found its key, as bits
	denied  bool   // somebody who held a quorum of the keys was told that he did not
	resets  bool   // the mutant: an extension sets a key that is gone
}

// add makes a client that has not begun.
func (w *world) add(r rules) {
	w.clients, w.clocks, w.alarms = append(w.clients, newMachine(r)), append(w.clocks, w.now), append(w.alarms, 0)
	w.found = append(w.found, 0)
}

// feed gives a client an event and puts its commands on their way.
func (w *world) feed(c int, e event) []effect {
	e.now = w.clocks[c]
	out := w.clients[c].step(e)
	for _, eff := range out {
		switch eff.kind {
		case effSet, effExtend, effDelete:
			w.packets = append(w.packets, packet{client: c, instance: eff.instance, kind: eff.kind})
		case effTimer:
			w.alarms[c] = eff.at
		case effEnded:
			had := bits.OnesCount(w.found[c]) >= w.clients[c].quorum()
			w.denied = w.denied || had && eff.result == resultNotHeld
		}
	}
	return out
}

// hear gives a client an answer.
func (w *world) hear(p packet) []effect {
	kind := map[effectKind]eventKind{effSet: evSet, effExtend: evExtended, effDelete: evDeleted}[p.kind]
	return w.feed(p.client, event{kind: kind, instance: p.instance, answer: p.answer, repeated: p.repeated})
}

// serve has an instance do what it is told.
func (w *world) serve(p packet) Answer {
	k := &w.keys[p.instance]
	free := k.until <= w.now
	mine := !free && k.client == p.client+1
	switch {
	case p.kind == effSet && free, p.kind == effExtend && (mine || free && w.resets):
		*k = key{p.client + 1, w.now + w.clients[p.client].ttl}
	case p.kind == effDelete && mine:
		*k = key{}
		w.found[p.client] |= 1 << p.instance
	default:
		return No
	}
	return Yes
}

// believers is how many clients believe that they hold.
func (w *world) believers() (n int) {
	for c, m := range w.clients {
		if m.phase == held && w.clocks[c] < m.until {
			n++
		}
	}
	return n
}
