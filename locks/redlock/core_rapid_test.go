package redlock

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRandomLives lets time pass between the events, so that keys expire, leases
// are extended and lost, and timers fire late. Whatever happens, two clients never
// believe to hold at the same moment.
func TestRandomLives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rules{
			n: rapid.IntRange(1, 5).Draw(t, "instances"), ttl: ms(100), drift: ms(3), timeout: ms(10),
			sequential: rapid.Bool().Draw(t, "sequential"), extend: rapid.Bool().Draw(t, "extend"),
		}
		w := world{keys: make([]key, r.n)}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				if n := w.believers(); n > 1 {
					t.Fatalf("%d clients believe to hold at %v", n, w.now)
				}
			},
			"begin": func(t *rapid.T) {
				if len(w.clients) > 30 {
					t.Skip()
				}
				w.add(r)
				w.feed(len(w.clients)-1, event{kind: evBegin})
			},
			"packet": func(t *rapid.T) {
				if len(w.packets) == 0 {
					t.Skip()
				}
				// Mostly in order: chaos alone seldom lets anybody reach a quorum.
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
				lost := rapid.IntRange(0, 9).Draw(t, "lost") == 0
				if !lost || rapid.Bool().Draw(t, "ran") {
					p.answer = w.serve(p)
				}
				if lost {
					p.answer = unknown
				}
				p.reply = true
				w.packets = append(w.packets, p)
			},
			"time": func(t *rapid.T) {
				w.now += ms(rapid.IntRange(1, 40).Draw(t, "ms"))
				for c, at := range w.alarms {
					w.clocks[c] = w.now
					if at > 0 && at <= w.now && rapid.IntRange(0, 3).Draw(t, "late timer") > 0 {
						w.alarms[c] = 0
						w.feed(c, event{kind: evTick})
					}
				}
			},
			"end": func(t *rapid.T) {
				if len(w.clients) == 0 {
					t.Skip()
				}
				kind := rapid.SampledFrom([]eventKind{evRelease, evGiveUp, evClose}).Draw(t, "how")
				w.feed(rapid.IntRange(0, len(w.clients)-1).Draw(t, "who"), event{kind: kind})
			},
		})
	})
}
