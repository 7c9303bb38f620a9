package core_test

import (
	"encoding/binary"
	"fmt"
	"slices"

	"locklab/locks/multiphase/core"
)

// token is what travels on a wire: a message, or the news that the connection was
// lost or made, which come in order with the messages.
type token struct {
	kind byte // 'm', 'd' (down), 'u' (up)
	msg  core.Message
}

// world is one state of the whole system.
type world struct {
	peers    []core.State
	wires    [][]token // FIFO from i to j at [i*n+j]
	current  []bool    // i's end of its connection to j is the live one, at [i*n+j]
	requests []int
	giveUps  int
	cuts     int // which of scope.cuts come next
	crashes  int
	mends    int
	effects  func(peer int, e core.Effect) // told of every effect; may be nil
	passed   []int                         // how often others got the lock while this peer has been waiting; nil if not counted
}

func newWorld(sc *scope) *world {
	n := sc.peers
	w := &world{
		wires: make([][]token, n*n), current: make([]bool, n*n),
		requests: slices.Clone(sc.requests), giveUps: sc.giveUps, mends: sc.mends,
	}
	for i := range n {
		w.peers = append(w.peers, fresh(sc, i))
	}
	if sc.passes > 0 {
		w.passed = make([]int, n)
	}
	for i := range n {
		for j := range n {
			if i == j || sc.forming {
				continue
			}
			w.peers[i].Step(core.Event{Kind: core.Connect, Peer: j}, nil)
			w.current[i*n+j] = true
		}
	}
	return w
}

func fresh(sc *scope, rank int) core.State {
	var others core.Set
	for j := range sc.peers {
		if j != rank {
			others = others.With(j)
		}
	}
	return core.New(&core.Config{Self: rank, Peers: others, Options: sc.options})
}

func (w *world) clone() *world {
	c := *w
	c.peers = make([]core.State, len(w.peers))
	for i := range w.peers {
		c.peers[i] = w.peers[i].Clone()
	}
	c.wires = make([][]token, len(w.wires))
	for i := range w.wires {
		c.wires[i] = slices.Clip(w.wires[i]) // shared: whoever appends copies
	}
	c.current = slices.Clone(w.current)
	c.requests = slices.Clone(w.requests)
	c.passed = slices.Clone(w.passed)
	return &c
}

func (w *world) encode(b []byte) []byte {
	for i := range w.peers {
		b = w.peers[i].AppendEncode(b)
		b = append(b, byte(w.requests[i]))
	}
	for i, wire := range w.wires {
		b = append(b, byte(len(wire)))
		if w.current[i] {
			b = append(b, 'c')
		}
		for _, t := range wire {
			b = append(b, t.kind, byte(t.msg.Kind))
			b = binary.AppendUvarint(b, t.msg.Round)
			b = binary.AppendUvarint(b, uint64(t.msg.View))
			if t.msg.Lurks {
				b = append(b, 'l')
			}
		}
	}
	for _, p := range w.passed {
		b = append(b, byte(p))
	}
	return append(b, byte(w.giveUps), byte(w.cuts), byte(w.crashes), byte(w.mends))
}

// step runs one peer's core and puts what it sends on the wires. What is sent over
// a connection that is not the live one is lost.
func (w *world) step(i int, ev core.Event) {
	n := len(w.peers)
	for _, e := range w.peers[i].Step(ev, nil) {
		if w.effects != nil {
			w.effects(i, e)
		}
		if e.Kind == core.Hold && w.passed != nil {
			w.countPass(i)
		}
		for j := range e.To.All() {
			if w.current[i*n+j] {
				w.wires[i*n+j] = append(w.wires[i*n+j], token{kind: 'm', msg: e.Msg})
			}
		}
	}
}

// countPass notes that i got the lock.
func (w *world) countPass(i int) {
	w.passed[i] = 0
	for j := range w.peers {
		if p := w.peers[j].Phase(); p == core.Lurking || p == core.Soliciting {
			w.passed[j]++
		}
	}
}

// lose ends the connection between i and j. Of what was on its way from i to j the
// first keep tokens still arrive, before the news.
func (w *world) lose(i, j, keep int) {
	n := len(w.peers)
	w.current[i*n+j] = false
	w.wires[i*n+j] = append(slices.Clip(w.wires[i*n+j][:keep]), token{kind: 'd'})
}

// linked says whether a connection between i and j exists, though its ends may not
// have noticed yet.
func (w *world) linked(i, j int) bool {
	n := len(w.peers)
	up := func(a, b int) bool { // b learns of a by the wire from a to b
		wire := w.wires[a*n+b]
		for _, t := range slices.Backward(wire) {
			if t.kind != 'm' {
				return t.kind == 'u'
			}
		}
		return w.current[b*n+a]
	}
	return up(i, j) && up(j, i)
}

// complete says whether everybody is connected to everybody and knows it.
func (w *world) complete() bool {
	n := len(w.peers)
	for i := range n * n {
		if i/n != i%n && !w.current[i] {
			return false
		}
	}
	return true
}

// successors calls yield with every world that can come next, and what happened.
func (w *world) successors(sc *scope, yield func(name string, next *world)) {
	n := sc.peers
	for i := range n {
		phase := w.peers[i].Phase()
		if phase == core.None && w.requests[i] > 0 {
			c := w.clone()
			c.requests[i]--
			c.step(i, core.Event{Kind: core.Request})
			yield(fmt.Sprintf("%d requests", i), c)
		}
		if phase == core.Acquired {
			c := w.clone()
			c.step(i, core.Event{Kind: core.Leave})
			yield(fmt.Sprintf("%d releases", i), c)
		} else if phase != core.None && w.giveUps > 0 {
			c := w.clone()
			c.giveUps--
			c.step(i, core.Event{Kind: core.Leave})
			yield(fmt.Sprintf("%d gives up", i), c)
		}
		for j := range n {
			if len(w.wires[i*n+j]) > 0 {
				name, c := w.deliver(i, j)
				yield(name, c)
			}
		}
	}
	w.faults(sc, yield)
}

func (w *world) deliver(i, j int) (string, *world) {
	n := len(w.peers)
	c := w.clone()
	t := c.wires[i*n+j][0]
	c.wires[i*n+j] = c.wires[i*n+j][1:]
	switch t.kind {
	case 'd':
		c.step(j, core.Event{Kind: core.Disconnect, Peer: i})
		return fmt.Sprintf("%d loses %d", j, i), c
	case 'u':
		c.current[j*n+i] = true
		c.step(j, core.Event{Kind: core.Connect, Peer: i})
		return fmt.Sprintf("%d connects to %d", j, i), c
	}
	c.step(j, core.Event{Kind: core.Receive, Peer: i, Msg: t.msg})
	return fmt.Sprintf("%d -> %d: %v", i, j, t.msg), c
}

func (w *world) faults(sc *scope, yield func(name string, next *world)) {
	n := sc.peers
	if w.cuts < len(sc.cuts) {
		i, j := sc.cuts[w.cuts][0], sc.cuts[w.cuts][1]
		if w.current[i*n+j] && w.current[j*n+i] {
			for a := range len(w.wires[i*n+j]) + 1 {
				for b := range len(w.wires[j*n+i]) + 1 {
					c := w.clone()
					c.cuts++
					c.lose(i, j, a)
					c.lose(j, i, b)
					yield(fmt.Sprintf("the link of %d and %d is cut", i, j), c)
				}
			}
		}
	}
	if w.crashes < len(sc.crashes) {
		w.crash(sc, sc.crashes[w.crashes], yield)
	}
	for i := range n {
		for j := range i {
			if w.mends > 0 && !w.linked(i, j) {
				c := w.clone()
				c.mends--
				for _, d := range [][2]int{{i, j}, {j, i}} {
					c.wires[d[0]*n+d[1]] = append(c.wires[d[0]*n+d[1]], token{kind: 'u'})
				}
				yield(fmt.Sprintf("%d and %d have a connection", j, i), c)
			}
		}
	}
}

// crash replaces peer i by a new incarnation. All or nothing of what it sent to
// each peer still arrives.
func (w *world) crash(sc *scope, i int, yield func(name string, next *world)) {
	n := sc.peers
	for j := range n {
		if j != i && (!w.current[i*n+j] || !w.current[j*n+i]) {
			return
		}
	}
	for arrives := range 1 << n {
		if arrives&(1<<i) != 0 {
			continue
		}
		c := w.clone()
		c.crashes++
		c.peers[i] = fresh(sc, i)
		for j := range n {
			if j == i {
				continue
			}
			keep := 0
			if arrives&(1<<j) != 0 {
				keep = len(c.wires[i*n+j])
			}
			c.lose(i, j, keep)
			c.wires[j*n+i], c.current[j*n+i] = nil, false
		}
		yield(fmt.Sprintf("%d crashes", i), c)
	}
}

func (w *world) unsafe(sc *scope) string {
	holders := 0
	for i := range w.peers {
		if w.peers[i].Phase() == core.Acquired {
			holders++
		}
	}
	if holders > 1 {
		return twoHold
	}
	for _, p := range w.passed {
		if p > sc.passes {
			return starves
		}
	}
	return ""
}

func (w *world) someoneWaits() bool {
	for i := range w.peers {
		if p := w.peers[i].Phase(); p == core.Lurking || p == core.Soliciting {
			return true
		}
	}
	return false
}
