package safety_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/workloads/history"
	"locklab/workloads/result"
)

// storeRead and storeWrite are what the store in w1 did for a hold.
func storeRead(master, hold string, at int64, token, version uint64) history.Event {
	return history.Event{Kind: history.KindRead, Node: "w1", Client: master, Hold: hold, Resource: "r", AtNS: at * ms, Token: token, Version: version}
}

func storeWrite(master, hold, state string, at int64, token, base, version uint64) history.Event {
	e := storeRead(master, hold, at, token, version)
	e.Kind, e.State, e.Base = history.KindWrite, state, base
	return e
}

// TestAPausedHolder stands still between its read and its write, while another one reads and
// writes. Its write is stale, and loses an update, unless the store checks tokens. Where tokens
// were shown, the store's taking it is a violation.
func TestAPausedHolder(t *testing.T) {
	for _, c := range []struct {
		name                                  string
		tokens, shown, refused                bool
		stale, lost, fenced, checked, counted int64
	}{
		{"fencing on", true, true, true, 0, 0, 1, 2, 0},
		{"fencing off", true, false, false, 1, 1, 0, 0, 0},
		{"a lock that has no tokens", false, false, false, 1, 1, 0, 0, 0},
		{"a store that does not check", true, true, false, 1, 1, 0, 2, 2},
	} {
		token := func(n uint64, is bool) uint64 { return n * uint64(count(is)) }
		late := storeWrite("m1", "h1", history.WriteAccepted, 90, token(7, c.shown), 0, 2)
		if c.refused {
			late.State, late.Version = history.WriteRefused, 1
		}
		f := judge(t, history.FencedWrite, []history.Event{
			acquire("m1", "h1", 0, 10, token(7, c.tokens)), storeRead("m1", "h1", 11, token(7, c.shown), 0), lost("m1", "h1", 40),
			acquire("m2", "h2", 5, 50, token(9, c.tokens)), storeRead("m2", "h2", 51, token(9, c.shown), 0),
			storeWrite("m2", "h2", history.WriteAccepted, 60, token(9, c.shown), 0, 1), release("m2", "h2", 61, 62), late,
		})
		if f.StaleWrites != c.stale || f.LostUpdates != c.lost || f.FencedWrites != c.fenced || f.CheckedWrites != c.checked {
			t.Errorf("%s: %+v", c.name, f)
		}
		if int64(len(f.Violations)) != c.counted || (f.Statement.Code == result.StaleWrites) != (c.counted > 0) {
			t.Errorf("%s: %+v, %+v", c.name, f.Statement, f.Violations)
		}
		for _, v := range f.Violations { // the lost version is overwritten by the stale write
			if v.First.Hold != "h2" || v.Second.Hold != "h1" || v.AtMS != 90 {
				t.Errorf("%s: %+v", c.name, v)
			}
		}
	}
}

// TestWritesNaively compares with a store whose values are sets of updates.
func TestWritesNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holds, tokens := rapid.IntRange(1, 6).Draw(t, "holds"), rapid.Bool().Draw(t, "tokens")
		var events []history.Event
		for h := range holds {
			events = append(events, acquire("m1", fmt.Sprint("h", h), 0, int64(h+1), uint64(h+1)))
		}
		values, base := []map[uint64]bool{{}}, make([]uint64, holds) // values by version
		newest, stale, refused, lost := -1, int64(0), int64(0), int64(0)
		for at := int64(100); at < 100+rapid.Int64Range(1, 20).Draw(t, "steps"); at++ {
			h := rapid.IntRange(0, holds-1).Draw(t, "hold")
			name, version, token := fmt.Sprint("h", h), uint64(len(values)-1), uint64(h+1)*uint64(count(tokens))
			switch write := rapid.Bool().Draw(t, "write"); {
			case rapid.IntRange(0, 3).Draw(t, "unknown") == 0:
				if rapid.Bool().Draw(t, "applied") { // nobody can know which update it overwrites
					values = append(values, maps.Clone(values[version]))
				}
				events = append(events, storeWrite("m1", name, history.WriteUnknown, at, token, base[h], base[h]))
			case tokens && h < newest && write:
				refused++
				events = append(events, storeWrite("m1", name, history.WriteRefused, at, token, base[h], version))
			case tokens && h < newest:
			case write:
				stale += count(h < newest)
				next := map[uint64]bool{version + 1: true}
				maps.Copy(next, values[base[h]])
				values = append(values, next)
				events = append(events, storeWrite("m1", name, history.WriteAccepted, at, token, base[h], version+1))
				newest = max(newest, h)
			default:
				base[h] = version
				events = append(events, storeRead("m1", name, at, token, version))
				newest = max(newest, h)
			}
		}
		for u := uint64(1); u < uint64(len(values)); u++ {
			lost += count(values[u][u] && slices.ContainsFunc(values[u:], func(v map[uint64]bool) bool { return !v[u] }))
		}
		f := judge(t, history.FencedWrite, rapid.Permutation(events).Draw(t, "file order"))
		if got, want := [3]int64{f.StaleWrites, f.FencedWrites, f.LostUpdates}, [3]int64{stale, refused, lost}; got != want {
			t.Fatalf("stale, refused, lost: %v, naively %v", got, want)
		}
	})
}
