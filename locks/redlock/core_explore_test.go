package redlock

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"
)

// This file walks through every interleaving of two or three clients that want one
// resource at once: every order in which commands and answers arrive, with
// timeouts, give-ups, an extension and, bounded in number, answers that get lost and
// commands that arrive after everybody has forgotten them. No time passes at the instances,
// so keys do not expire: what is shown here does not lean on clocks.

// state is one state. Packets may overtake each other unless fifo is set.
type state struct {
	world
	begun   []bool
	losses  int  // how many more may happen
	inDoubt bool // a forgotten SET may still come
	fifo    bool
	instant bool // answers take no time: fewer states, for more instances
	extends bool // each holder extends its hold once
}

func newState(clients, instances, losses int, fifo bool) state {
	w := state{begun: make([]bool, clients), losses: losses, fifo: fifo}
	w.keys = make([]key, instances)
	for range clients {
		w.add(rules{n: instances, ttl: time.Hour, drift: time.Minute, timeout: time.Second, extend: true})
	}
	return w
}

func (w state) clone() state {
	w.clients = slices.Clone(w.clients)
	for i := range w.clients {
		w.clients[i].members = slices.Clone(w.clients[i].members)
		w.clients[i].out = nil
	}
	w.begun, w.clocks, w.alarms = slices.Clone(w.begun), slices.Clone(w.clocks), slices.Clone(w.alarms)
	w.keys, w.packets, w.found = slices.Clone(w.keys), slices.Clone(w.packets), slices.Clone(w.found)
	return w
}

// digest identifies the state, whatever the instances are called: they are alike.
func (w *state) digest() [2]uint64 {
	bit := func(v bool) byte {
		if v {
			return 1
		}
		return 0
	}
	columns := make([]string, len(w.keys))
	for i := range columns {
		column := []byte{byte(w.keys[i].client)}
		for c := range w.clients {
			p := &w.clients[c].members[i]
			column = append(column, byte(p.set)|byte(p.deleted)<<3|bit(p.late)<<6|bit(p.asked)<<7,
				bit(p.deleting)|bit(p.again)<<1|bit(p.believed)<<2|bit(p.found)<<3|byte(p.extended)<<4|bit(p.extending > 0)<<7)
		}
		var codes []uint32
		for _, p := range w.packets {
			if p.instance == i {
				codes = append(codes, uint32(p.client)<<16|uint32(bit(p.reply))<<12|uint32(p.kind)<<8|uint32(p.answer)<<4|uint32(bit(p.forgotten)))
			}
		}
		if !w.fifo {
			slices.Sort(codes)
		} else { // only the order within a channel counts
			slices.SortStableFunc(codes, func(a, b uint32) int { return int(a>>12) - int(b>>12) })
		}
		for _, c := range codes {
			column = append(column, byte(c>>16), byte(c>>8), byte(c))
		}
		columns[i] = string(column)
	}
	slices.Sort(columns)
	b := []byte{byte(w.losses), bit(w.inDoubt)}
	for c := range w.clients {
		b = append(b, byte(w.clients[c].phase), bit(w.clients[c].freed), bit(w.begun[c])|bit(w.clocks[c] > 0)<<1|bit(w.extended(c))<<2|bit(w.clients[c].extendOpen)<<3)
	}
	for _, column := range columns {
		b = append(append(b, byte(len(column))), column...)
	}
	one, two := fnv.New64a(), fnv.New64()
	_, _ = one.Write(b) // a hash never fails
	_, _ = two.Write(b)
	return [2]uint64{one.Sum64(), two.Sum64()}
}

// extended says whether a client has begun its extension.
func (w *state) extended(c int) bool { return w.clocks[c] > time.Second }

// take gives a client an event.
func (w *state) take(c int, e event) error { return w.check(c, w.feed(c, e)) }

// check looks at what a client has made of an event.
func (w *state) check(c int, effects []effect) error {
	for _, eff := range effects {
		switch eff.kind {
		case effFreed:
			if err := w.checkFree(c, "freed"); err != nil {
				return err
			}
		case effEnded:
			if eff.result == resultNotHeld {
				return fmt.Errorf("client %d released what it held and was told that it did not", c)
			}
			if eff.result == resultOK {
				if err := w.checkFree(c, "released"); err != nil {
					return err
				}
			}
		}
	}
	if holders := w.believers(); holders > 1 {
		return fmt.Errorf("%d clients hold at once", holders)
	}
	return nil
}

// checkFree compares what a client says of itself with what is true: that fewer
// than a quorum of the instances carry its token or may come to do so.
func (w *state) checkFree(c int, word string) error {
	may := 0
	for i, k := range w.keys {
		coming := slices.ContainsFunc(w.packets, func(p packet) bool {
			return p.client == c && p.instance == i && p.kind == effSet && !p.reply
		})
		if k.client == c+1 || coming {
			may++
		}
	}
	if may >= w.clients[c].quorum() {
		return fmt.Errorf("client %d is said to be %s, but %d instances may carry its token", c, word, may)
	}
	return nil
}

// arrive delivers packet i.
func (w *state) arrive(i int) error {
	p := w.packets[i]
	w.packets = slices.Delete(w.packets, i, i+1)
	if p.reply {
		return w.check(p.client, w.hear(p))
	}
	p.answer = w.serve(p)
	if p.forgotten {
		return nil
	}
	p.reply = true
	w.packets = append(w.packets, p)
	if w.instant {
		return w.arrive(len(w.packets) - 1)
	}
	return nil
}

// deliverable says whether packet i may be next.
func (w *state) deliverable(i int) bool {
	if !w.fifo || w.packets[i].forgotten {
		return true // a command on a broken connection is in nobody's order
	}
	for _, before := range w.packets[:i] {
		if before.client == w.packets[i].client && before.instance == w.packets[i].instance &&
			before.reply == w.packets[i].reply && !before.forgotten {
			return false
		}
	}
	return true
}

// next lists all states that can follow.
func (w *state) next() ([]state, error) {
	var all []state
	try := func(change func(*state) error) error {
		n := w.clone()
		if err := change(&n); err != nil {
			return err
		}
		all = append(all, n)
		return nil
	}
	for c := range w.clients {
		m := &w.clients[c]
		var changes []func(*state) error
		switch {
		case !w.begun[c]:
			changes = append(changes, func(n *state) error { n.begun[c] = true; return n.take(c, event{kind: evBegin}) })
		case m.phase == asking:
			changes = append(changes, func(n *state) error { return n.take(c, event{kind: evRelease}) })
			if w.clocks[c] == 0 {
				changes = append(changes, func(n *state) error { n.clocks[c] = time.Second; return n.take(c, event{kind: evTick}) })
			}
		case m.phase == held:
			changes = append(changes, func(n *state) error { return n.take(c, event{kind: evRelease}) })
			if w.extends && !w.extended(c) {
				changes = append(changes, func(n *state) error { n.clocks[c] = m.extendAt; return n.take(c, event{kind: evTick}) })
			}
		}
		for _, change := range changes {
			if err := try(change); err != nil {
				return nil, err
			}
		}
	}
	for i, p := range w.packets {
		if !w.deliverable(i) {
			continue
		}
		if err := try(func(n *state) error { return n.arrive(i) }); err != nil {
			return nil, err
		}
		if w.losses == 0 || p.kind == effDelete || p.forgotten {
			continue
		}
		// The connection breaks: the client is told that nothing is known. The command
		// has run (p is the answer), is gone, or, if it is forgotten only, comes later.
		if err := try(func(n *state) error {
			n.losses--
			n.packets = slices.Delete(n.packets, i, i+1)
			p.answer = Unknown
			return n.check(p.client, n.hear(p))
		}); err != nil {
			return nil, err
		}
		if !p.reply {
			if err := try(func(n *state) error {
				n.losses--
				n.inDoubt = n.inDoubt || p.kind == effSet // an extension that is late finds nothing
				n.packets[i].forgotten = true
				p.answer = Unknown
				return n.check(p.client, n.hear(p))
			}); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// explore visits every state and returns how many there are, or the first error.
func explore(start state, most int) (states int, err error) {
	seen := map[[2]uint64]struct{}{start.digest(): {}}
	queue := []state{start}
	for len(queue) > 0 {
		w := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		following, err := w.next()
		if err != nil {
			return len(seen), err
		}
		if len(following) == 0 && !w.inDoubt {
			for i, k := range w.keys {
				if k.client != 0 {
					return len(seen), fmt.Errorf("everything is over, and instance %d still carries client %d's token", i, k.client-1)
				}
			}
		}
		for _, n := range following {
			k := n.digest()
			if _, known := seen[k]; !known {
				seen[k] = struct{}{}
				queue = append(queue, n)
			}
		}
		if len(seen) > most {
			return len(seen), fmt.Errorf("more than %d states", most)
		}
	}
	return len(seen), nil
}

func TestEveryInterleaving(t *testing.T) {
	t.Parallel()
	tests := []struct {
		clients, instances, losses int
		fifo, instant, extends     bool
	}{
		{2, 1, 2, false, false, false},
		{2, 1, 1, false, false, true},
		{1, 3, 2, true, true, true},
		{2, 2, 0, true, false, false},
		{3, 1, 1, true, false, false},
		{2, 3, 0, true, true, true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
			t.Parallel()
			start := newState(tt.clients, tt.instances, tt.losses, tt.fifo)
			start.instant, start.extends = tt.instant, tt.extends
			states, err := explore(start, 1_000_000)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states", states)
		})
	}
}

// TestAnExtensionMustNotSetTheKeyAgain drops the rule: an extension that comes late then
// brings back the key of a hold that is over.
func TestAnExtensionMustNotSetTheKeyAgain(t *testing.T) {
	t.Parallel()
	start := newState(1, 1, 1, true)
	start.extends, start.resets = true, true
	if _, err := explore(start, 1_000_000); err == nil || !strings.Contains(err.Error(), "still carries") {
		t.Errorf("want a key that is left behind, got %v", err)
	}
}
