package check_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// fenced is the head of a run of fenced-write: complete, so that nothing may be missing.
func fenced() history.Event {
	return history.Event{Kind: history.KindRun, Run: &history.Run{
		Schema: history.Schema, Lock: "raft", Workload: history.FencedWrite, Expect: &history.Expect{Safety: "safe"},
	}}
}

// storeRead and storeWrite are what the store in w1 did for a hold of m1 or m2.
func storeRead(master, hold string, at int64, token, version uint64) history.Event {
	return history.Event{Kind: history.KindRead, Node: "w1", Client: master, Hold: hold, Resource: "r", AtNS: at * ms, Token: token, Version: version}
}

func storeWrite(master, hold, state string, at int64, token, base, version uint64) history.Event {
	e := storeRead(master, hold, at, token, version)
	e.Kind, e.State, e.Base = history.KindWrite, state, base
	return e
}

// paused is a holder that stands still between its read and its write, while another one
// reads and writes. Tokens are those of the lock, shown those that the store sees.
func paused(tokens, shown bool) []history.Event {
	token := func(n uint64, is bool) uint64 {
		if !is {
			return 0
		}
		return n
	}
	late := storeWrite("m1", "h1", history.WriteAccepted, 90, token(7, shown), 0, 2)
	if shown && tokens {
		late.State, late.Version = history.WriteRefused, 1
	}
	return []history.Event{
		fenced(),
		acquire("m1", "a", "h1", 0, 10, token(7, tokens)), storeRead("m1", "h1", 11, token(7, shown), 0),
		acquire("m2", "b", "h2", 5, 50, token(9, tokens)), storeRead("m2", "h2", 51, token(9, shown), 0),
		storeWrite("m2", "h2", history.WriteAccepted, 60, token(9, shown), 0, 1), release("m2", "h2", 61, 62),
		late, release("m1", "h1", 91, 92),
	}
}

func judgeWrites(events []history.Event) *check.Findings {
	return checktest.Events(events, check.Options{Workloads: []check.Workload{check.FencedWrite(), check.Mutex()}})
}

// TestAPausedHolder: its write is stale, and loses an update, unless a token was checked.
func TestAPausedHolder(t *testing.T) {
	for name, c := range map[string]struct {
		tokens, shown                       bool
		stale, refused, lost, took, checked int64
		told                                string
	}{
		"fencing on":                {true, true, 0, 1, 0, 1, 2, "Fencing was on: the store refused 1 late write and took 1 write, 0 of which were stale."},
		"fencing off":               {true, false, 1, 0, 1, 2, 0, "Fencing was off: the store took 2 writes, 1 of which were stale, and 1 update was lost."},
		"a lock that has no tokens": {false, false, 1, 0, 1, 2, 0, "This lock has no fencing tokens, so there was nothing to check, with fencing as without: the store took 2 writes, 1 of which were stale, and 1 update was lost."},
	} {
		f := judgeWrites(paused(c.tokens, c.shown))
		for field, want := range map[string]int64{
			"stale_writes": c.stale, "fenced_writes": c.refused, "lost_updates": c.lost, "writes": c.took, "checked_writes": c.checked,
		} {
			if got := f.Counts[field]; got != want {
				t.Errorf("%s: %s %d, want %d", name, field, got, want)
			}
		}
		if f.Overlaps != 1 || len(f.Violated) != 0 {
			t.Errorf("%s: %d overlaps, violated %v: the lock is judged on its holds", name, f.Overlaps, f.Violated)
		}
		if v := check.Judge(f, history.Expect{}); !strings.HasSuffix(v.Why, c.told) {
			t.Errorf("%s: %s", name, v.Why)
		}
		for _, c := range f.Contradictions {
			if text := c.String(); strings.Contains(text, "store") || strings.Contains(text, "version") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

// TestAStoreThatDoesNotCheck takes what it should have refused: that is a violation, since
// the holder showed its token.
func TestAStoreThatDoesNotCheck(t *testing.T) {
	events := paused(true, true)
	events[7] = storeWrite("m1", "h1", history.WriteAccepted, 90, 7, 0, 2)
	f := judgeWrites(events)
	if f.Violated["stale write"] != 1 || f.Violated["lost update"] != 1 {
		t.Errorf("violated %v", f.Violated)
	}
	whats := map[string]bool{}
	for _, e := range f.Examples {
		whats[e.What] = !e.Text.IsZero()
	}
	if !whats["stale write"] || !whats["lost update"] {
		t.Errorf("examples %+v", f.Examples)
	}
}

// TestALateWrite: who wrote in time, and whose write was on its way until the next one held,
// has done nothing wrong, and neither has its lock. The store was wronged all the same.
func TestALateWrite(t *testing.T) {
	f := judgeWrites([]history.Event{
		fenced(),
		acquire("m1", "a", "h1", 0, 10, 0), storeRead("m1", "h1", 11, 0, 0), release("m1", "h1", 40, 41),
		acquire("m2", "b", "h2", 5, 50, 0), storeRead("m2", "h2", 51, 0, 0),
		storeWrite("m1", "h1", history.WriteAccepted, 55, 0, 0, 1),
		storeWrite("m2", "h2", history.WriteAccepted, 60, 0, 0, 2), release("m2", "h2", 61, 62),
	})
	if n, what := f.Violations(); n != 0 || f.Counts["stale_writes"] != 1 || f.Counts["lost_updates"] != 1 {
		t.Errorf("%d violations (%s), counts %v", n, what, f.Counts)
	}
}

// TestStoreRecordsThatDoNotFit: what cannot be is a contradiction, and decides nothing.
func TestStoreRecordsThatDoNotFit(t *testing.T) {
	replace := func(n int, change func(*history.Event)) func([]history.Event) []history.Event {
		return func(events []history.Event) []history.Event {
			change(&events[n])
			return events
		}
	}
	for want, spoil := range map[string]func([]history.Event) []history.Event{
		"missing records: 3, such as the acquisition of hold h2": func(e []history.Event) []history.Event { return slices.Delete(e, 3, 4) },
		"hold h1 is of other, and wrote to r":                    replace(1, func(e *history.Event) { e.Resource = "other" }),
		"hold h2 read or wrote 45 ms before":                     replace(4, func(e *history.Event) { e.AtNS = 5 * ms }),
		"hold h2 got token 9, and showed 8":                      replace(5, func(e *history.Event) { e.Token = 8 }),
		"version 1 of r was written by who had read 1":           replace(5, func(e *history.Event) { e.Base = 1 }),
		"version 1 of r":                   replace(7, func(e *history.Event) { e.State = history.WriteAccepted }),
		"refused hold h2 of r, and nobody": replace(5, func(e *history.Event) { e.State, e.Version = history.WriteRefused, 0 }),
	} {
		f := judgeWrites(spoil(paused(true, true)))
		if text := fmt.Sprint(f.Contradictions); !strings.Contains(text, want) {
			t.Errorf("want %q, got\n%s", want, text)
		}
		if v := check.Judge(f, history.Expect{Safety: "safe"}); v.Status != check.Inconclusive {
			t.Errorf("%s: %s (%s)", want, v.Status, v.Why)
		}
	}
}

// TestWritesNaively compares with a store whose values are sets of updates.
func TestWritesNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holds, tokens := rapid.IntRange(1, 6).Draw(t, "holds"), rapid.Bool().Draw(t, "tokens")
		events := []history.Event{fenced()}
		for h := range holds {
			events = append(events, acquire("m1", "a", fmt.Sprint("h", h), 0, int64(h+1), uint64(h+1)))
		}
		values := []map[uint64]bool{{}} // by version
		base := make([]uint64, holds)
		newest, stale, refused, wrote := -1, int64(0), int64(0), int64(0)
		for at := int64(100); at < 100+rapid.Int64Range(1, 20).Draw(t, "steps"); at++ {
			h := rapid.IntRange(0, holds-1).Draw(t, "hold")
			version, token := uint64(len(values)-1), uint64(0)
			if tokens {
				token = uint64(h + 1)
			}
			switch write := rapid.Bool().Draw(t, "write"); {
			case rapid.IntRange(0, 3).Draw(t, "unknown") == 0:
				if rapid.Bool().Draw(t, "applied") { // what it overwrites nobody can know
					values = append(values, maps.Clone(values[version]))
				}
				events = append(events, storeWrite("m1", fmt.Sprint("h", h), history.WriteUnknown, at, token, base[h], rapid.SampledFrom([]uint64{0, base[h]}).Draw(t, "version")))
			case tokens && h < newest && write:
				refused++
				events = append(events, storeWrite("m1", fmt.Sprint("h", h), history.WriteRefused, at, token, base[h], version))
			case tokens && h < newest:
			case write:
				if h < newest {
					stale++
				}
				wrote++
				next := map[uint64]bool{version + 1: true}
				for u := range values[base[h]] {
					next[u] = true
				}
				values = append(values, next)
				events = append(events, storeWrite("m1", fmt.Sprint("h", h), history.WriteAccepted, at, token, base[h], version+1))
				newest = max(newest, h)
			default:
				base[h] = version
				events = append(events, storeRead("m1", fmt.Sprint("h", h), at, token, version))
				newest = max(newest, h)
			}
		}
		lost := int64(0)
		for u := uint64(1); u < uint64(len(values)); u++ {
			if values[u][u] && slices.ContainsFunc(values[u:], func(v map[uint64]bool) bool { return !v[u] }) {
				lost++
			}
		}
		r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
		r.Shuffle(len(events)-1, func(i, j int) { events[i+1], events[j+1] = events[j+1], events[i+1] })
		f := judgeWrites(events)
		got := []int64{f.Counts["stale_writes"], f.Counts["fenced_writes"], f.Counts["lost_updates"], f.Counts["writes"]}
		if want := []int64{stale, refused, lost, wrote}; !slices.Equal(got, want) {
			t.Fatalf("stale, refused, lost, written: %v, naively %v", got, want)
		}
	})
}
