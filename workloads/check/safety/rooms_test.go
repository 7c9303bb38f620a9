package safety_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"locklab/workloads/history"
	"locklab/workloads/result"
)

// ordered is one room of group g with its order, in ms: the master looked at from, the worker
// began at start, the order was answered at answered.
type ordered struct {
	room, worker          string
	master, hold          string
	from, start, answered int64
	open, full            int64 // 0: never
	unreachable           []string
	unordered             bool // the order is not on record
}

func (o ordered) events() (list []history.Event) {
	room := func(state string, at int64) {
		list = append(list, history.Event{Kind: history.KindRoom, AtNS: at * ms, Node: o.worker, Client: o.master, Room: o.room, Order: "o-" + o.room, Resource: "g", State: state})
	}
	room("starting", o.start)
	if o.open > 0 {
		room("open", o.open)
	}
	if o.full > 0 {
		room("full", o.full)
	}
	if o.unordered {
		return list
	}
	return append(list, history.Event{
		Kind: history.KindOrder, FromNS: o.from * ms, AtNS: o.answered * ms, Node: o.master, Hold: o.hold,
		Order: "o-" + o.room, Worker: o.worker, Resource: "g", Outcome: "ok", Unreachable: o.unreachable,
	})
}

// fault is a ledger's entry, in force from asked to ended.
func fault(asked, ended int64, links bool) (list []history.Event) {
	for i, state := range []string{"asked", "began", "heal-asked", "ended"} {
		e := history.Event{Kind: history.KindFault, ID: "f", Fault: "partition", State: state, AtNS: []int64{asked, asked + 5, ended - 5, ended}[i] * ms}
		if e.Nodes = []string{"w2"}; links {
			e.Nodes, e.From, e.To = nil, []string{"ha"}, []string{"hc"}
		}
		list = append(list, e)
	}
	return list
}

func TestDuplicates(t *testing.T) {
	first := ordered{room: "O", worker: "w2", master: "m2", hold: "h2", from: 10, start: 20, open: 70, answered: 75}
	second := ordered{room: "R", worker: "w1", master: "m1", hold: "h1", from: 300, start: 310, open: 360, answered: 365}
	with := func(o ordered, change func(*ordered)) ordered {
		change(&o)
		return o
	}
	unreachable := with(second, func(o *ordered) { o.unreachable = []string{"w2"} })
	late := with(second, func(o *ordered) { o.unordered = true })
	cut := fault(100, 900, true)
	for _, c := range []struct {
		name                string
		rooms               []ordered
		also                []history.Event
		counted, unexcluded int64 // unexcluded: unreachable
	}{
		{"one room", []ordered{first}, nil, 0, 0},
		{"the first was full before", []ordered{with(first, func(o *ordered) { o.full = 309 }), second}, nil, 0, 0},
		{"the first was full at that moment", []ordered{with(first, func(o *ordered) { o.full = 310 }), second}, nil, 0, 0},
		{"full while it started", []ordered{with(first, func(o *ordered) { o.open, o.full = 0, 30 }), second}, nil, 0, 0},
		{"the first is free", []ordered{first, second}, nil, 1, 0},
		{"the first is starting", []ordered{with(first, func(o *ordered) { o.open = 400 }), second}, nil, 1, 0},
		{"both were ordered at once", []ordered{first, with(second, func(o *ordered) { o.from, o.start = 15, 40 })}, nil, 1, 0},
		{"three at once make two", []ordered{first, with(second, func(o *ordered) { o.start = 22 }), with(second, func(o *ordered) { o.room, o.start = "S", 24 })}, nil, 2, 0},
		{"two orders of one hold", []ordered{first, with(second, func(o *ordered) { o.master, o.hold, o.from = "m2", "h2", 10 })}, nil, 1, 0},
		{"the worker was killed before", []ordered{first, second}, []history.Event{killed("w2", 200, 200)}, 0, 0},
		{"the worker was killed later", []ordered{first, second}, []history.Event{killed("w2", 320, 320)}, 1, 0},
		{"no order is on record", []ordered{with(first, func(o *ordered) { o.unordered = true }), late}, nil, 1, 0},
		{"cut off, but the master reached the worker", []ordered{first, second}, cut, 1, 0},
		{"cut off from the worker", []ordered{first, unreachable}, cut, 0, 1},
		{"not reached, and nothing was broken", []ordered{first, unreachable}, nil, 1, 0},
		{"not reached, and no traffic was cut", []ordered{first, unreachable}, fault(100, 900, false), 1, 0},
		{"not reached, soon after the heal", []ordered{first, unreachable}, fault(50, 200, true), 0, 1},
		{"not reached, long after the heal", []ordered{first, with(unreachable, func(o *ordered) { o.from, o.start, o.open, o.answered = 1900, 1910, 1960, 1965 })}, cut, 1, 0},
		{"not reached, before the fault", []ordered{first, unreachable}, fault(400, 900, true), 1, 0},
		{"another worker was not reached", []ordered{first, with(unreachable, func(o *ordered) { o.unreachable = []string{"w1"} })}, cut, 1, 0},
		{"cut off, but both were ordered at once", []ordered{with(first, func(o *ordered) { o.answered = 301 }), unreachable}, cut, 1, 0},
		{"one free room was cut off, another one not", []ordered{
			first, {room: "P", worker: "w1", master: "m1", hold: "h0", from: 100, start: 105, answered: 125, unreachable: []string{"w2"}}, unreachable,
		}, cut, 1, 1},
		{"arrived after its master had been killed", []ordered{first, late}, []history.Event{killed("m1", 300, 309)}, 0, 1},
		{"its master was killed later", []ordered{first, late}, []history.Event{killed("m1", 311, 311)}, 1, 0},
		{"another master was killed", []ordered{first, late}, []history.Event{killed("m2", 300, 300)}, 1, 0},
		{"its master had been killed once, but the order is on record", []ordered{first, second}, []history.Event{killed("m1", 30, 30)}, 1, 0},
	} {
		var rooms []history.Event
		for _, r := range c.rooms {
			rooms = append(rooms, r.events()...)
		}
		f := judge(t, history.Matchmaking, rooms, c.also)
		if f.Duplicates != c.counted || f.Unreachable != c.unexcluded {
			t.Errorf("%s: %d duplicates, %d unreachable; want %d, %d", c.name, f.Duplicates, f.Unreachable, c.counted, c.unexcluded)
		}
		excused := 0
		for _, v := range f.Violations {
			excused += int(count(v.Excused))
		}
		if excused != int(c.unexcluded) || len(f.Violations)-excused != int(c.counted) {
			t.Errorf("%s: %+v", c.name, f.Violations)
		}
		if failed := f.Statement.Code == result.Duplicates; failed != (c.counted > 0) {
			t.Errorf("%s: %+v", c.name, f.Statement)
		}
	}
}

// TestDuplicatesNaively compares every pair of rooms.
func TestDuplicatesNaively(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cutFrom, cutTo := rapid.Int64Range(1, 60).Draw(t, "cut from"), rapid.Int64Range(61, 120).Draw(t, "cut to")
		events := fault(cutFrom, cutTo, true)
		rooms := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ordered {
			n := rapid.IntRange(1, 2)
			o := ordered{worker: fmt.Sprint("w", n.Draw(t, "worker")), master: fmt.Sprint("m", n.Draw(t, "master"))}
			o.from = rapid.Int64Range(1, 80).Draw(t, "from")
			o.start = o.from + rapid.Int64Range(0, 20).Draw(t, "start")
			o.answered = o.from + rapid.Int64Range(0, 20).Draw(t, "answered")
			o.open = o.start + 1
			o.full = o.open + rapid.Int64Range(0, 40).Draw(t, "fill")
			if rapid.Bool().Draw(t, "listed") {
				o.unreachable = []string{"w1", "w2"}[:n.Draw(t, "how many")]
			}
			return o
		}), 0, 12).Draw(t, "rooms")
		for i := range rooms {
			rooms[i].room = fmt.Sprint("r", i)
			events = append(events, rooms[i].events()...)
		}
		var duplicates, unreachable int64
		for i, r := range rooms {
			free, counts := false, false
			for n, o := range rooms {
				earlier := cmp.Or(cmp.Compare(o.start, r.start), cmp.Compare(n, i)) < 0
				if !earlier || o.full <= r.start {
					continue
				}
				free = true
				atOnce := o.from < r.answered && r.from < o.answered
				counts = counts || atOnce || !slices.Contains(r.unreachable, o.worker) || r.start < cutFrom || r.start > cutTo+1000
			}
			duplicates += count(counts)
			unreachable += count(free && !counts)
		}
		f := judge(t, history.Matchmaking, events) // in this order the names are in that of the rooms
		if f.Duplicates != duplicates || f.Unreachable != unreachable {
			t.Fatalf("%d duplicates, %d unreachable, naively %d, %d", f.Duplicates, f.Unreachable, duplicates, unreachable)
		}
	})
}

// TestManyFreeRoomsStayFast has a group whose rooms never fill: to compare each with all others
// would take minutes.
func TestManyFreeRoomsStayFast(t *testing.T) {
	const rooms = 10_000
	var events []history.Event
	for i := range int64(rooms) {
		events = append(events, ordered{
			room: fmt.Sprint("r", i), worker: "w1", master: "m1", from: 10 * i, start: 10*i + 1, open: 10*i + 2, answered: 10*i + 3,
		}.events()...)
	}
	if f := judge(t, history.Matchmaking, events); f.Duplicates != rooms-1 {
		t.Errorf("%d duplicates", f.Duplicates)
	}
}
