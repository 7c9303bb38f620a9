package quorum

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"locklab/locks/peerlock/peercore"
)

// follow goes the way, as far as it is possible: what can't happen is left out.
func (w *world) follow(way []string) *world {
	for _, name := range way {
		all := w.successors(true)
		if i := slices.IndexFunc(all, func(m next) bool { return m.name == name }); i >= 0 {
			w = all[i].world
		}
	}
	return w
}

// drain lets all messages arrive.
func (w *world) drain(t interface{ Fatal(args ...any) }) {
	for range 10_000 {
		i := slices.IndexFunc(w.wires, func(wire []packet) bool { return len(wire) > 0 })
		if i < 0 {
			return
		}
		w.take(i/len(w.peers), i%len(w.peers))
	}
	t.Fatal("messages without end")
}

// settle mends all links and then lets everybody who waits have its turn. Nobody is
// suspended, so all goes on at once; a lease ends when nothing else can happen.
func (w *world) settle(t *rapid.T) {
	n := len(w.peers)
	for i := range n {
		for j := range i {
			if !w.linked(i, j) {
				w.mend(i, j)
			}
		}
	}
	expire := func(timer peercore.Timer, only func(i int) bool) (some bool) {
		for i := range n {
			if w.peers[i].Running(timer) && only(i) {
				t.Logf("%v of %d is over", timer, i)
				w.timers[i][timer] = off
				w.step(i, Event{Kind: peercore.Expire, Timer: timer})
				some = true
			}
		}
		return some
	}
	timePasses := func() bool {
		leases := expire(peercore.Lease, func(int) bool { return true })
		votes := expire(peercore.Vote, func(i int) bool { return !w.used(w.peers[i].Voted()) })
		recoveries := expire(peercore.Recovery, func(i int) bool { return !slices.ContainsFunc(w.graves[i], w.used) })
		return leases || votes || recoveries
	}
	for range 1000 {
		w.drain(t)
		i := slices.Index(w.clients, peercore.ClientHolds)
		switch {
		case i >= 0:
			t.Logf("%d releases", i)
			w.step(i, Event{Kind: peercore.Leave})
		case timePasses():
		case slices.Contains(w.clients, peercore.ClientWaits):
			t.Fatal(stuck)
		default:
			for i := range w.peers {
				if !w.peers[i].Idle() || !w.peers[i].Bootstrapped() {
					t.Fatalf("all is over and peer %d still remembers something", i)
				}
			}
			return
		}
		if w.wrong != "" {
			t.Fatal(w.wrong)
		}
	}
	t.Fatal("they never come to an end")
}

// drawScope draws the bounds of a walk.
func drawScope(t *rapid.T) *scope {
	n := rapid.IntRange(1, 5).Draw(t, "peers")
	sc := &scope{
		peers: n, requests: make([]int, n), giveUps: rapid.IntRange(0, 10).Draw(t, "giveUps"),
		leases: rapid.IntRange(0, 5).Draw(t, "leases"), newborn: rapid.IntRange(0, 9).Draw(t, "newborn") == 0,
		options: Options{View: rapid.IntRange(0, 4).Draw(t, "view") == 0},
	}
	for i := range sc.requests {
		sc.requests[i] = rapid.IntRange(0, 6).Draw(t, "requests")
	}
	if rapid.Bool().Draw(t, "clock") {
		lease := rapid.IntRange(1, 6).Draw(t, "lease")
		sc.clock = &clock{
			lease: lease, renew: rapid.IntRange(0, lease).Draw(t, "renew"), vote: lease + 1,
			ticks: 1000, renewals: 1000, impatient: rapid.Bool().Draw(t, "impatient"),
		}
	}
	if n > 1 && rapid.Bool().Draw(t, "faults") {
		for range rapid.IntRange(1, 6).Draw(t, "cuts") {
			i := rapid.IntRange(1, n-1).Draw(t, "i")
			sc.cuts = append(sc.cuts, [2]int{rapid.IntRange(0, i-1).Draw(t, "j"), i})
		}
		for range rapid.IntRange(0, 3).Draw(t, "crashing") {
			sc.crashes = append(sc.crashes, rapid.IntRange(0, n-1).Draw(t, "crashes"))
		}
		sc.mends = len(sc.cuts) + n*len(sc.crashes)
	}
	return sc
}

// forgetful says how many peers are recovering.
func (w *world) forgetful() (n int) {
	for i := range w.peers {
		if w.peers[i].recovering {
			n++
		}
	}
	return n
}

// TestWalk walks at random through worlds too large to explore, with all kinds of
// faults, but with fewer than a majority recovering at once, or all.
func TestWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc := drawScope(t)
		w := newWorld(sc)
		most := w.peers[0].cfg.majority()
		for range rapid.IntRange(0, 600).Draw(t, "moves") {
			all := w.successors(true)
			all = slices.DeleteFunc(all, func(m next) bool {
				return m.world.crashes > w.crashes && (m.world.forgetful() >= most || w.forgetful() >= most)
			})
			if len(all) == 0 {
				break
			}
			m := all[rapid.IntRange(0, len(all)-1).Draw(t, "move")]
			t.Log(m.name)
			if w = m.world; w.wrong != "" {
				t.Fatal(w.wrong)
			}
			for i := range w.peers {
				checkLoad(t, &w.peers[i])
			}
		}
		w.settle(t)
	})
}

// checkLoad writes the state and reads it again.
func checkLoad(t *rapid.T, s *State) {
	b := s.AppendEncode(nil)
	again := State{cfg: s.cfg, floor: 99, waiting: queue{{from: 7}}}
	rest := again.Load(append(slices.Clone(b), "rest"...))
	if string(rest) != "rest" {
		t.Fatalf("%q is left of %+v", rest, *s)
	}
	want := s.Clone()
	if len(want.waiting) == 0 {
		want.waiting, again.waiting = nil, nil
	}
	if !reflect.DeepEqual(again, want) {
		t.Fatalf("%+v is read as %+v", want, again)
	}
}

// TestReset: what is forgotten comes back with its connections and above its tokens.
func TestReset(t *testing.T) {
	cfg := &Config{Self: 0, Peers: peercore.SetOf(1, 2), Part: Resource}
	idle := New(cfg, true)
	idle.Step(Event{Kind: peercore.Connect, Peer: 1}, nil)
	var s State
	s.Reset(&idle, Token(7, 2))
	if s.Bootstrapped() || !s.Idle() || s.Round() != Token(7, 2) || !s.Connected().Equal(peercore.SetOf(1)) {
		t.Fatalf("%+v", s)
	}
	if out := s.Step(Event{Kind: peercore.Request}, nil); len(out) > 0 || !s.Waits() {
		t.Fatalf("a recovering peer asks: %v", out)
	}
	out := s.Step(Event{Kind: peercore.Recover, Round: Token(9, 1)}, nil)
	if !s.Bootstrapped() || s.Uses() != Token(10, 0) || s.Voted() != Token(10, 0) {
		t.Fatalf("after the recovery: %+v", s)
	}
	var sent []string
	for _, e := range out {
		sent = append(sent, e.String())
	}
	if got := strings.Join(sent, "; "); got != "start renew; start lease; MyLock(10.0) -> {1}" {
		t.Fatal(got)
	}
}
