package check_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"locklab/internal/seed"
	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// simulation plays clients of one lock in virtual time. The lock is as right or
// as broken as the defect says.
type simulation struct {
	random *rand.Rand
	now    int64
	events []history.Event

	holder  string // at the server
	expires int64
	token   uint64
}

// defect is what is wrong with the lock.
type defect string

const (
	correct       defect = "correct"
	grantsTwice   defect = "grants twice"         // now and then forgets that it is held
	staleLease    defect = "stale lease"          // the client believes longer than the server
	deletesOthers defect = "deletes others"       // a late release frees whoever holds now
	tokensStand   defect = "tokens do not grow"   // but it excludes
	unknownAsNo   defect = "unknown counts as no" // the server granted, the client was told no: safe, only slow
)

const lease = 50 * ms

func simulate(d defect, s seed.Seed, steps int) []history.Event {
	sim := &simulation{random: s.Rand(), now: 10 * ms}
	sim.events = append(phases(0, 1_000_000, 1_000_000), mutexRun())
	for i := range steps {
		sim.step(d, fmt.Sprint("m", i%3), fmt.Sprint("h", i))
	}
	sim.random.Shuffle(len(sim.events), func(a, b int) { sim.events[a], sim.events[b] = sim.events[b], sim.events[a] })
	return sim.events
}

// step lets one client acquire and release; steps overlap in time where the lock
// lets them.
func (s *simulation) step(d defect, node, hold string) {
	asked := s.now
	free := s.holder == "" || s.now >= s.expires
	if !free {
		if s.random.IntN(3) == 0 {
			s.events = append(s.events, history.Event{Kind: history.KindAcquire, Node: node, Client: node, Resource: "r", FromNS: asked, AtNS: asked + ms, Outcome: "failed", Error: "timeout"})
			s.now += ms
			return
		}
		s.now = max(s.now, s.expires) + ms // wait for the lease
	}
	s.token++
	token := s.token
	if d == tokensStand {
		token = 7
	}
	s.holder, s.expires = hold, s.now+lease
	if d == unknownAsNo && s.random.IntN(5) == 0 {
		s.events = append(s.events, history.Event{Kind: history.KindAcquire, Node: node, Client: node, Resource: "r", FromNS: asked, AtNS: s.now + 2*ms, Outcome: "unknown", Error: "unknown"})
		s.now += 3 * ms
		return
	}
	s.now += ms
	s.events = append(s.events, history.Event{Kind: history.KindAcquire, Node: node, Client: node, Hold: hold, Resource: "r", FromNS: asked, AtNS: s.now, Outcome: "ok", Token: token})
	begin := s.now
	switch s.random.IntN(4) {
	case 0: // the holder is slow: its lease runs out
		stop := s.expires - ms
		if d == staleLease {
			stop = s.expires + 30*ms
		}
		s.events = append(s.events, history.Event{Kind: history.KindLost, Node: node, Hold: hold, Resource: "r", AtNS: stop})
		s.now = s.expires
		if d == deletesOthers {
			s.holder = "" // its release arrives while the next one holds
			s.expires = begin
			s.now = begin + 2*ms
		}
	case 1: // killed
		s.events = append(s.events,
			history.Event{Kind: history.KindNode, Node: node, State: "killed", AtNS: begin + 2*ms},
			history.Event{Kind: history.KindNode, Node: node, State: "started", AtNS: begin + 3*ms})
		s.now = begin + 4*ms
	default:
		s.now += 5 * ms
		s.events = append(s.events, history.Event{Kind: history.KindRelease, Node: node, Hold: hold, Resource: "r", FromNS: s.now, AtNS: s.now + 2*ms, Outcome: "ok"})
		s.holder = ""
		s.now += ms
		if d == grantsTwice && s.random.IntN(20) == 0 {
			s.now = begin + 2*ms // the next one asks while it is held, and gets it
		}
	}
}

func TestBrokenLocksAreFlagged(t *testing.T) {
	for d, wantUnsafe := range map[defect]bool{
		correct: false, unknownAsNo: false, grantsTwice: true, staleLease: true, deletesOthers: true, tokensStand: true,
	} {
		for s := range seed.Seed(20) {
			f := checktest.Events(simulate(d, s, 300), options)
			n, what := f.Violations()
			if (n > 0) != wantUnsafe {
				t.Errorf("%s, seed %d: %s: %+v", d, s, what, f.Examples)
			}
			if n > 0 && len(f.Examples) == 0 {
				t.Errorf("%s, seed %d: no example", d, s)
			}
		}
	}
}

func TestPicturesAgree(t *testing.T) {
	checked := func(events []history.Event) (*check.Checker, *check.Findings) {
		c := check.New(options)
		for i := range events {
			c.Add(&events[i])
		}
		return c, c.Findings()
	}
	for d, want := range map[defect]porcupine.CheckResult{correct: porcupine.Ok, unknownAsNo: porcupine.Ok, staleLease: porcupine.Illegal} {
		c, f := checked(simulate(d, 3, 300))
		win := check.Window{Resource: "r", FromNS: 0, ToNS: 500 * ms}
		if len(f.Examples) > 0 {
			win = check.Around(f.Examples[0], 100*time.Millisecond)
		}
		var page bytes.Buffer
		got, err := c.Visualize(&page, win)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", d, got, err, want)
		}
		if !strings.Contains(page.String(), "</html>") || !strings.Contains(page.String(), "acquire r") {
			t.Errorf("%s: the page has %d bytes", d, page.Len())
		}
	}
	c, _ := checked([]history.Event{acquire("m", "a", "h", 20, 10, 0), release("m", "h", 30, 31)}) // answered before it was asked
	if _, err := c.Visualize(&bytes.Buffer{}, check.Window{ToNS: 100 * ms}); err != nil {
		t.Error(err)
	}
	c, _ = checked(simulate(correct, 1, 5000))
	if _, err := c.Visualize(&bytes.Buffer{}, check.Window{ToNS: 1 << 60}); err == nil {
		t.Error("a window with thousands of operations was drawn")
	}
}

// TestDuplicatesAgainstNaive compares every pair of rooms, as the definition does.
func TestDuplicatesAgainstNaive(t *testing.T) {
	rank := []string{"none", "unreachable", "overlooked", "raced"}
	rapid.Check(t, func(t *rapid.T) {
		cutFrom, cutTo := rapid.Int64Range(1, 60).Draw(t, "cut from"), rapid.Int64Range(61, 120).Draw(t, "cut to")
		events := append(phases(0, 5000, 5000), world())
		events = append(events, fault("f", "partition", cutFrom, cutTo, cutAC)...)
		rooms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ordered {
			n := rapid.IntRange(1, 2)
			o := ordered{worker: fmt.Sprint("w", n.Draw(t, "worker")), master: fmt.Sprint("m", n.Draw(t, "master"))}
			o.hold = fmt.Sprint("h", rapid.IntRange(0, 9).Draw(t, "hold"))
			o.from = rapid.Int64Range(1, 80).Draw(t, "from")
			o.start = o.from + rapid.Int64Range(0, 20).Draw(t, "start")
			o.answered = o.from + rapid.Int64Range(0, 20).Draw(t, "answered")
			o.open = o.start + rapid.Int64Range(1, 10).Draw(t, "boot")
			o.full = o.open + rapid.Int64Range(0, 30).Draw(t, "fill")
			o.outcome = rapid.SampledFrom([]string{"ok", "ok", "unknown"}).Draw(t, "outcome")
			if rapid.Bool().Draw(t, "listed") {
				o.unreachable = []string{"w1", "w2"}
			}
			return o
		}), 0, 9).Draw(t, "rooms")
		for i := range rooms {
			rooms[i].room = fmt.Sprint("r", i)
			events = append(events, rooms[i].events()...)
		}

		inForce := func(from, to int64) bool { return from < cutTo+1000 && cutFrom < max(to, from+1) } // with the margin
		apart := func(master, worker string) bool { return master[1:] != worker[1:] }
		lostTrack := func(o ordered) bool {
			return o.outcome == "unknown" && apart(o.master, o.worker) && inForce(o.from, o.answered)
		}
		var want check.Duplicates
		for i, r := range rooms {
			worst := "none"
			for j, o := range rooms {
				before := o.start < r.start || (o.start == r.start && o.worker+o.room < r.worker+r.room)
				if i == j || !before || o.full <= r.start {
					continue
				}
				same := o.master == r.master && o.hold == r.hold
				var pair string
				switch {
				case !same && r.from < o.answered && o.from < r.answered:
					pair = "raced"
				case o.start > r.from && (lostTrack(r) || lostTrack(o)):
					pair = "unreachable"
				case o.start > r.from && same:
					pair = "overlooked"
				case o.start > r.from:
					pair = "raced"
				case slices.Contains(r.unreachable, o.worker) && apart(r.master, o.worker) && inForce(r.from, r.answered):
					pair = "unreachable"
				case o.open > r.start:
					pair = "raced"
				default:
					pair = "overlooked"
				}
				if slices.Index(rank, pair) > slices.Index(rank, worst) {
					worst = pair
				}
			}
			switch worst {
			case "raced":
				want.Raced++
			case "overlooked":
				want.Overlooked++
			case "unreachable":
				want.Unreachable++
			}
		}
		shuffled := rapid.Permutation(events).Draw(t, "file order")
		if f := checktest.Events(shuffled, options); f.Duplicates != want {
			t.Fatalf("got %+v, naively %+v", f.Duplicates, want)
		}
	})
}
