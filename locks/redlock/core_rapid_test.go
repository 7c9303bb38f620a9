package redlock

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRandomLives lets time pass between the events, so that keys expire, leases
// are extended and lost, timers fire late, and instances lose their memory and stay away
// for a TTL. Whatever happens, two clients never believe to hold at the same moment, and
// none is told that it did not hold what it did.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rules{
			n: rapid.IntRange(1, 5).Draw(t, "instances"), ttl: ms(100), drift: ms(3), timeout: ms(10),
			sequential: rapid.Bool().Draw(t, "sequential"), extend: rapid.Bool().Draw(t, "extend"),
		}
		w := world{keys: make([]key, r.n), back: make([]time.Duration, r.n)}
		actions := map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if n := w.believers(); n > 1 {
					t.Fatalf("%d clients believe to hold at %v", n, w.now)
				}
				if w.denied {
					t.Fatal("a client released what it held and was told that it did not")
				}
			},
			"begin": func(t *rapid.T) {
				if len(w.alive()) > 2 {
					t.Skip()
				}
				w.add(r)
				w.feed(len(w.clients)-1, event{kind: evBegin})
			},
			"packets": func(t *rapid.T) {
				for range rapid.IntRange(1, 2*r.n).Draw(t, "packets") {
					w.deliver(t)
				}
			},
			"time": func(t *rapid.T) {
				longest := rapid.SampledFrom([]int{1, 1, 1, 10, 40}).Draw(t, "at most")
				w.now += ms(rapid.IntRange(1, longest).Draw(t, "ms"))
				for c, at := range w.alarms {
					w.clocks[c] = w.now
					if at > 0 && at <= w.now && rapid.IntRange(0, 3).Draw(t, "late timer") > 0 {
						w.alarms[c] = 0
						w.feed(c, event{kind: evTick})
					}
				}
			},
			"forget": func(t *rapid.T) {
				i := rapid.IntRange(0, r.n-1).Draw(t, "instance")
				w.keys[i], w.back[i] = key{}, w.now+r.ttl
			},
			"end": func(t *rapid.T) {
				alive := w.alive()
				if len(alive) == 0 || rapid.IntRange(0, 3).Draw(t, "not yet") > 0 {
					t.Skip()
				}
				kind := rapid.SampledFrom([]eventKind{evRelease, evRelease, evRelease, evClose}).Draw(t, "how")
				w.feed(rapid.SampledFrom(alive).Draw(t, "who"), event{kind: kind})
			},
		}
		for range 5 { // lives are long: a lease is extended before it is released
			t.Repeat(actions)
		}
	})
}

// alive lists the clients whose acquisitions are not over.
func (w *world) alive() (all []int) {
	for c := range w.clients {
		if !w.clients[c].cleared {
			all = append(all, c)
		}
	}
	return all
}

// deliver takes one packet to where it is going. Mostly in order: chaos alone seldom lets
// anybody reach a quorum.
func (w *world) deliver(t *rapid.T) {
	if len(w.packets) == 0 {
		return
	}
	i := 0
	if rapid.IntRange(0, 3).Draw(t, "overtake") == 0 {
		i = rapid.IntRange(0, len(w.packets)-1).Draw(t, "packet")
	}
	p := w.packets[i]
	w.packets = slices.Delete(w.packets, i, i+1)
	if p.reply {
		w.hear(p)
		return
	}
	away := w.now < w.back[p.instance]
	lost := away || rapid.IntRange(0, 9).Draw(t, "lost") == 0
	if !lost || !away && rapid.Bool().Draw(t, "ran") {
		p.answer = w.serve(p)
	}
	switch {
	case !lost:
		p.reply = true
	case p.kind == effDelete && rapid.Bool().Draw(t, "again"):
		p.answer, p.repeated = pending, true
	default:
		p.reply, p.answer = true, Unknown
	}
	w.packets = append(w.packets, p)
}
