package explore

import (
	"context"
	"fmt"
	"slices"

	"locklab/locks/peerlock/peercore"
)

// Trace is a way from the beginning to a state, one move after the other.
type Trace struct {
	Peers  []string `json:"peers"`  // in what state each is in the beginning
	Linked []bool   `json:"linked"` // whether each is connected to anybody then
	Steps  []Step   `json:"steps"`
}

// Step is one move of a trace, in words.
type Step struct {
	Kind MoveKind `json:"-"`
	Move string   `json:"move"` // the kind of the move
	Peer int      `json:"peer"`
	From int      `json:"from"` // who sent, or the other end of a link; -1 if nobody
	// SentAt is the step, from 1, in which a message that arrives was sent; 0 if the
	// step is something else.
	SentAt int      `json:"sent_at,omitempty"`
	Text   string   `json:"text"` // the message, or what happened
	Sent   []Sent   `json:"sent,omitempty"`
	Does   []string `json:"does,omitempty"` // what else the peer's step asked for: hold, lose
	// Peers is in what state each is now.
	Peers []string `json:"peers"`
	Waits []bool   `json:"waits"`
	Holds []bool   `json:"holds"`
}

// Sent is a message that a step sent.
type Sent struct {
	To   int    `json:"to"`
	Text string `json:"text"`
	Lost bool   `json:"lost,omitempty"` // there was no connection any more
}

// trace is the way to a place, in words. Rounds and timestamps are those that the
// peers would really use.
func (s *search[S, M, P]) trace(ctx context.Context, at place, describe func(P) string) (*Trace, error) {
	states, err := s.path(ctx, at)
	if err != nil {
		return nil, err
	}
	plain := newWorld[S, M, P](s.all.Alg, s.scope)
	plain.plain = true
	plain.first()
	copy(plain.base, plain.next)
	t := &Trace{}
	for i := range s.n {
		t.Peers = append(t.Peers, plain.describe(i, describe))
		linked := false
		for j := range s.n {
			linked = linked || (j != i && plain.base[plain.wire(i, j)].current())
		}
		t.Linked = append(t.Linked, linked)
	}
	mail := make(mail, s.n*s.n)
	for k, packed := range states[1:] {
		s.parts.unpack(states[k], s.base)
		m, ok := s.moveTo(packed)
		if !ok {
			return nil, fmt.Errorf("no move leads from state %d of a trace to the next", k)
		}
		arrives := plain.brings(m)
		step := plain.take(m, describe)
		step.SentAt = mail.follow(len(t.Steps)+1, m, step, arrives, plain.onWires(), s.n)
		t.Steps = append(t.Steps, step)
	}
	return t, nil
}

// mail remembers in which step the messages on each wire were sent.
type mail [][]int

// follow notes what a step did and says when the message was sent that it delivered, or
// 0. wires is how many messages are on each wire now.
func (m mail) follow(number int, move Move, s Step, arrives bool, wires []int, n int) (sentAt int) {
	if arrives {
		wire := &m[int(move.From)*n+int(move.Peer)]
		sentAt = (*wire)[move.Index]
		*wire = slices.Delete(*wire, int(move.Index), int(move.Index)+1)
	}
	for _, sent := range s.Sent {
		if !sent.Lost {
			m[s.Peer*n+sent.To] = append(m[s.Peer*n+sent.To], number)
		}
	}
	for i := range m { // what was lost, was sent before the rest
		m[i] = m[i][len(m[i])-wires[i]:]
	}
	return sentAt
}

// onWires is how many messages are on each wire, from i to j at i*n+j.
func (w *world[S, M, P]) onWires() []int {
	counts := make([]int, w.n*w.n)
	for i := range w.n {
		for j := range w.n {
			if i == j {
				continue
			}
			wire := w.base[w.wire(i, j)]
			for k := range wire.ends {
				if !isNews(wire.kindAt(k)) {
					counts[i*w.n+j]++
				}
			}
		}
	}
	return counts
}

// brings says that the move delivers a message.
func (w *world[S, M, P]) brings(m Move) bool {
	return m.Kind == Deliver && !isNews(w.base[w.wire(int(m.From), int(m.Peer))].kindAt(int(m.Index)))
}

// moveTo finds the first move from base to a state.
func (w *world[S, M, P]) moveTo(packed []byte) (Move, bool) {
	w.list = w.moves(w.list[:0])
	for _, m := range w.list {
		w.apply(m)
		if w.packed = pack(w.packed[:0], w.next); slices.Equal(w.packed, packed) {
			return m, true
		}
	}
	return Move{}, false
}

// path is the packed states from the beginning to a place, in order.
func (s *search[S, M, P]) path(ctx context.Context, at place) ([][]byte, error) {
	var states [][]byte
	for at != nowhere {
		record := s.states.record(at)
		states = append(states, slices.Clone(record[recordHead:recordHead+s.packedLen(record[recordHead:])]))
		at = readPlace(record)
	}
	slices.Reverse(states)
	if !s.states.deep {
		return states, nil
	}
	// Only every so many levels were kept: search again in between.
	full := states[:1:1]
	for k := range states[1:] {
		between := newSearch(s.world, false, nil)
		between.checks, between.target = false, states[k+1]
		s.parts.unpack(states[k], s.next)
		between.run(ctx)
		if between.result.Ended != Violated {
			return nil, fmt.Errorf("find the trace of a deep search again: %v", between.result.Ended)
		}
		part, err := between.path(ctx, between.at)
		if err != nil {
			return nil, err
		}
		full = append(full, part[1:]...)
	}
	return full, nil
}

// describe is the state of a peer in words.
func (w *world[S, M, P]) describe(i int, describe func(P) string) string {
	core := P(&w.load(w.base[i], &w.peers[i]).State)
	switch {
	case describe != nil:
		return describe(core)
	case core.Holds():
		return "HOLDS"
	case core.Waits():
		return "WAITS"
	default:
		return "NONE"
	}
}

// take makes the move from base, makes its outcome the new base, and puts it in words.
func (w *world[S, M, P]) take(m Move, describe func(P) string) Step {
	step := Step{Kind: m.Kind, Move: m.Kind.String(), Peer: int(m.Peer), From: -1, Text: w.textOf(m)}
	switch m.Kind {
	case Deliver, Cut, Mend:
		step.From = int(m.From)
	default:
	}
	w.observe = func(peer int, e peercore.Effect[M]) {
		switch e.Kind {
		case peercore.Send:
			for j := range e.To.All() {
				lost := !w.next[w.wire(peer, j)].current()
				step.Sent = append(step.Sent, Sent{To: j, Text: fmt.Sprint(e.Msg), Lost: lost})
			}
		case peercore.Hold, peercore.Lose:
			step.Does = append(step.Does, e.String())
		default: // pauses and timers show when they are over
		}
	}
	w.apply(m)
	w.observe = nil
	copy(w.base, w.next)
	for i := range w.n {
		step.Peers = append(step.Peers, w.describe(i, describe))
		step.Waits = append(step.Waits, w.base[i].waits)
		step.Holds = append(step.Holds, w.base[i].holds)
	}
	return step
}

// textOf says what a move from base is, without who moves.
func (w *world[S, M, P]) textOf(m Move) string {
	if m.Kind == Deliver {
		item := w.base[w.wire(int(m.From), int(m.Peer))].item(int(m.Index))
		switch item[0] {
		case itemDown:
			return fmt.Sprintf("loses %d", m.From)
		case itemUp:
			return fmt.Sprintf("connects to %d", m.From)
		}
		message, _ := w.decode(item[1:])
		return fmt.Sprint(message)
	}
	return [...]string{
		Request: "requests", Release: "releases", GiveUp: "gives up", Wake: "ends its pause", Expire: m.Timer.String() + " over",
		Cut: "link breaks", Mend: "new connection", Crash: "crashes, memory lost", Forget: "forgets the resource", Tick: "a tick",
	}[m.Kind]
}
