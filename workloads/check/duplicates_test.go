package check_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

const ms = int64(1e6)

// options are those under which all workloads can be judged.
var options = check.Options{Workloads: []check.Workload{check.Matchmaking(), check.Mutex()}}

// world is two zones with a master and a worker each: hosts ha (m1, w1) and hc
// (m2, w2).
func world() history.Event {
	return history.Event{Kind: history.KindRun, Run: &history.Run{
		Schema: history.Schema, Lock: "raft", Workload: history.Matchmaking, OfferedPS: 1e-6,
		NodeHosts: map[string]string{"m1": "ha", "w1": "ha", "m2": "hc", "w2": "hc"},
	}}
}

func phases(measure, drain, end int64) []history.Event {
	return []history.Event{
		{Kind: history.KindPhase, State: "warmup", AtNS: 0},
		{Kind: history.KindPhase, State: "measure", AtNS: measure * ms},
		{Kind: history.KindPhase, State: "drain", AtNS: drain * ms},
		{Kind: history.KindPhase, State: "end", AtNS: end * ms},
	}
}

// ordered is one room of group g with its order: the master looked at from,
// the worker began at start, the order was answered at answered.
type ordered struct {
	room, worker          string
	master, hold          string
	from, start, answered int64 // ms
	open, full            int64 // ms; 0: never
	unreachable           []string
	outcome               string // of the order; "" is ok, "none" leaves the order out
}

func (o ordered) events() []history.Event {
	var list []history.Event
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
	if o.outcome == "none" {
		return list
	}
	return append(list, history.Event{
		Kind: history.KindOrder, FromNS: o.from * ms, AtNS: o.answered * ms, Node: o.master, Hold: o.hold,
		Order: "o-" + o.room, Worker: o.worker, Resource: "g", Outcome: cmp.Or(o.outcome, "ok"), Unreachable: o.unreachable,
	})
}

func fault(id, kind string, asked, ended int64, fill func(*history.Event)) []history.Event {
	var list []history.Event
	for _, s := range []struct {
		state string
		at    int64
	}{{"asked", asked}, {"began", asked + 5}, {"heal-asked", ended - 5}, {"ended", ended}} {
		e := history.Event{Kind: history.KindFault, ID: id, Fault: kind, Target: "t", State: s.state, AtNS: s.at * ms}
		fill(&e)
		list = append(list, e)
	}
	return list
}

func cutAC(e *history.Event) { e.From, e.To = []string{"ha"}, []string{"hc"} }

// slowAC slows messages down between the zones, both ways, by so much one way.
func slowAC(delay int64) func(*history.Event) {
	return func(e *history.Event) {
		e.From, e.To, e.DelayNS = []string{"ha", "hc"}, []string{"ha", "hc"}, delay*ms
	}
}

func stopW2(e *history.Event) { e.Nodes = []string{"w2"} }

func node(name, state string, at int64) history.Event {
	return history.Event{Kind: history.KindNode, Node: name, State: state, AtNS: at * ms}
}

func TestDuplicatesByCause(t *testing.T) {
	partition := fault("f1", "zone-partition", 100, 900, cutAC)
	first := ordered{room: "O", worker: "w2", master: "m2", hold: "h2", from: 10, start: 20, open: 70, answered: 75}
	second := ordered{room: "R", worker: "w1", master: "m1", hold: "h1", from: 300, start: 310, open: 360, answered: 365}
	with := func(o ordered, change func(*ordered)) ordered {
		change(&o)
		return o
	}
	for _, c := range []struct {
		name  string
		rooms []ordered
		also  []history.Event
		want  check.Duplicates
	}{
		{"one room", []ordered{first}, nil, check.Duplicates{}},
		{"the first was full before", []ordered{with(first, func(o *ordered) { o.full = 309 }), second}, nil, check.Duplicates{}},
		{"the first was full at that moment", []ordered{with(first, func(o *ordered) { o.full = 310 }), second}, nil, check.Duplicates{}},
		{"full while it started", []ordered{with(first, func(o *ordered) { o.open, o.full = 0, 30 }), with(second, func(o *ordered) { o.from, o.start = 40, 50 })}, nil, check.Duplicates{}},
		{"overlooked", []ordered{first, second}, nil, check.Duplicates{Overlooked: 1}},
		{"overlooked although the fault is over", []ordered{first, with(second, func(o *ordered) { o.from, o.start, o.open, o.answered = 3000, 3010, 3055, 3060 })}, partition, check.Duplicates{Overlooked: 1}},
		{"listed, and a partition was in force", []ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })}, partition, check.Duplicates{Unreachable: 1}},
		{"listed, shortly after the heal", []ordered{first, with(second, func(o *ordered) {
			o.from, o.start, o.open, o.answered, o.unreachable = 1500, 1510, 1555, 1560, []string{"w2"}
		})}, partition, check.Duplicates{Unreachable: 1}},
		{"listed, but nothing was broken", []ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })}, nil, check.Duplicates{Overlooked: 1}},
		{
			"listed, but only slow",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "flaky", 100, 900, slowAC(20)),
			check.Duplicates{Overlooked: 1},
		},
		{
			"listed, and slowed down for longer than the master waited",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "latency", 100, 900, slowAC(33)),
			check.Duplicates{Unreachable: 1},
		},
		{
			"listed, and slowed down for less than that",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "latency", 100, 900, slowAC(32)),
			check.Duplicates{Overlooked: 1},
		},
		{
			"listed, and a fault that nothing proves may have been in force",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "partition", 100, 900, cutAC)[:1],
			check.Duplicates{Unreachable: 1},
		},
		{
			"listed, but other hosts were cut",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "partition", 100, 900, func(e *history.Event) { e.From, e.To = []string{"ha"}, []string{"hx"} }),
			check.Duplicates{Overlooked: 1},
		},
		{
			"cut one way, towards the master",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "partition", 100, 900, func(e *history.Event) { e.From, e.To = []string{"hc"}, []string{"ha"} }),
			check.Duplicates{Unreachable: 1},
		},
		{
			"listed, and the worker was paused",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "pause", 100, 900, stopW2),
			check.Duplicates{Unreachable: 1},
		},
		{
			"listed, and the clock of the worker was wrong",
			[]ordered{first, with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			fault("f1", "clock-step", 100, 900, stopW2),
			check.Duplicates{Overlooked: 1},
		},
		{"no order of the second, whose master had been killed", []ordered{first, with(second, func(o *ordered) { o.start, o.outcome = 72, "none" })}, []history.Event{node("m1", "killed", 70)}, check.Duplicates{Unreachable: 1}},
		{"no order of the second, whose master was killed later", []ordered{first, with(second, func(o *ordered) { o.start, o.outcome = 72, "none" })}, []history.Event{node("m1", "killed", 73)}, check.Duplicates{Raced: 1}},
		{"cut, but the master reached it", []ordered{first, second}, partition, check.Duplicates{Overlooked: 1}},
		{"the worker was killed before", []ordered{first, second}, []history.Event{node("w2", "killed", 200)}, check.Duplicates{}},
		{"the worker was killed before it could say that the room was full", []ordered{first, second}, []history.Event{node("w2", "killed", 320)}, check.Duplicates{}},
		{"the worker was killed after it had recorded something of another room", []ordered{first, second}, []history.Event{
			{Kind: history.KindRoom, AtNS: 311 * ms, Node: "w2", Client: "m2", Room: "X", Order: "o-X", Resource: "x", State: "starting"}, node("w2", "killed", 320),
		}, check.Duplicates{Overlooked: 1}},
		{"the worker was killed, and had recorded something of another room before", []ordered{first, second}, []history.Event{
			{Kind: history.KindRoom, AtNS: 309 * ms, Node: "w2", Client: "m2", Room: "X", Order: "o-X", Resource: "x", State: "starting"}, node("w2", "killed", 320),
		}, check.Duplicates{}},
		{"the worker was killed later", []ordered{first, second}, []history.Event{node("w2", "killed", 1400)}, check.Duplicates{Overlooked: 1}},
		{"raced: ordered at the same time", []ordered{first, with(second, func(o *ordered) { o.from, o.start = 15, 40 })}, nil, check.Duplicates{Raced: 1}},
		{"raced also when it was unreachable too", []ordered{first, with(second, func(o *ordered) {
			o.from, o.start, o.unreachable = 60, 74, []string{"w2"}
		})}, fault("f1", "partition", 1, 900, cutAC), check.Duplicates{Raced: 1}},
		{"raced: it was starting, and was missed", []ordered{with(first, func(o *ordered) { o.open, o.answered = 400, 30 }), second}, nil, check.Duplicates{Raced: 1}},
		{
			"starting and unreachable",
			[]ordered{with(first, func(o *ordered) { o.open, o.answered = 400, 30 }), with(second, func(o *ordered) { o.unreachable = []string{"w2"} })},
			partition,
			check.Duplicates{Unreachable: 1},
		},
		{"two orders of one hold", []ordered{first, with(second, func(o *ordered) { o.master, o.hold, o.from, o.start = "m2", "h2", 10, 80 })}, nil, check.Duplicates{Overlooked: 1}},
		{"two orders of one hold, the first cut off", []ordered{
			{room: "O", worker: "w2", master: "m1", hold: "h1", from: 90, start: 120, open: 170, answered: 250, outcome: "unknown"},
			{room: "R", worker: "w1", master: "m1", hold: "h1", from: 90, start: 260, open: 310, answered: 315},
		}, partition, check.Duplicates{Unreachable: 1}},
		{"an order that a partition delayed", []ordered{
			{room: "O", worker: "w2", master: "m1", hold: "h1", from: 110, start: 905, open: 950, answered: 250, outcome: "unknown"},
			{room: "R", worker: "w1", master: "m1", hold: "h3", from: 300, start: 310, open: 360, answered: 365},
		}, partition, check.Duplicates{Unreachable: 1}},
		{"an order that nothing delayed takes effect late", []ordered{
			{room: "O", worker: "w2", master: "m1", hold: "h1", from: 110, start: 905, open: 950, answered: 250, outcome: "unknown"},
			{room: "R", worker: "w1", master: "m1", hold: "h3", from: 300, start: 310, open: 360, answered: 365},
		}, nil, check.Duplicates{Raced: 1}},
		{"an order of unknown outcome made a room", []ordered{
			with(first, func(o *ordered) { o.outcome = "unknown" }), second,
		}, nil, check.Duplicates{Overlooked: 1}},
		{"no order in the history", []ordered{with(first, func(o *ordered) { o.outcome = "none" }), second}, nil, check.Duplicates{Overlooked: 1}},
		{"no order of the second", []ordered{first, with(second, func(o *ordered) { o.outcome = "none" })}, nil, check.Duplicates{Overlooked: 1}},
		{"no order of the second, whose master was cut off", []ordered{first, with(second, func(o *ordered) { o.outcome = "none" })}, partition, check.Duplicates{Unreachable: 1}},
		{"no order of the second, within the first's", []ordered{first, with(second, func(o *ordered) { o.start, o.outcome = 72, "none" })}, nil, check.Duplicates{Raced: 1}},
		{"three at once make two duplicates", []ordered{
			first,
			with(second, func(o *ordered) { o.from, o.start = 12, 22 }),
			with(second, func(o *ordered) { o.room, o.master, o.hold, o.from, o.start = "S", "m3", "h9", 14, 24 }),
		}, nil, check.Duplicates{Raced: 2}},
		{"the worst cause counts", []ordered{
			first, // unreachable for R
			{room: "P", worker: "w1", master: "m1", hold: "h0", from: 100, start: 105, open: 120, answered: 125, unreachable: []string{"w2"}},
			with(second, func(o *ordered) { o.unreachable = []string{"w2"} }), // and P overlooked
		}, partition, check.Duplicates{Unreachable: 1, Overlooked: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			events := append([]history.Event{world()}, phases(0, 5000, 5000)...)
			for _, r := range c.rooms {
				events = append(events, r.events()...)
			}
			f := checktest.Events(append(events, c.also...), options)
			if f.Duplicates != c.want {
				t.Errorf("got %+v, want %+v; examples %+v", f.Duplicates, c.want, f.Examples)
			}
			if int64(len(f.Examples)) != c.want.Total() {
				t.Errorf("%d examples for %d duplicates", len(f.Examples), c.want.Total())
			}
		})
	}
}

func TestWarmupDuplicatesAreApart(t *testing.T) {
	events := append([]history.Event{world()}, phases(300, 5000, 5000)...)
	a := ordered{room: "A", worker: "w1", master: "m1", hold: "h1", from: 10, start: 20, open: 30, full: 400, answered: 40}
	b := ordered{room: "B", worker: "w1", master: "m1", hold: "h2", from: 110, start: 120, open: 130, answered: 140}
	events = append(append(events, a.events()...), b.events()...)
	f := checktest.Events(events, options)
	if f.Duplicates.Total() != 0 || f.WarmupDuplicates != (check.Duplicates{Overlooked: 1}) || f.RoomsCreated != 0 {
		t.Errorf("%+v", f)
	}
	if v := check.Judge(f, history.Expect{Safety: check.Safe}); v.Status != check.Violated {
		t.Errorf("%+v", v)
	}
}

// TestTheOtherRoomIsToldAsItWas: starting until it is open, free from then on.
func TestTheOtherRoomIsToldAsItWas(t *testing.T) {
	first := ordered{room: "O", worker: "w2", master: "m2", hold: "h2", from: 10, start: 20, open: 70, answered: 75}
	for start, want := range map[int64]string{69: "on w2 was starting: raced", 70: "on w2 was free: raced"} {
		second := ordered{room: "R", worker: "w1", master: "m1", hold: "h1", from: 30, start: start, open: 160, answered: 165}
		f := checktest.Events(append(append(append([]history.Event{world()}, phases(0, 5000, 5000)...), first.events()...), second.events()...), options)
		if len(f.Examples) != 1 || !strings.Contains(f.Examples[0].Text.String(), want) {
			t.Errorf("a room that began at %d ms: %v, want %q", start, f.Examples, want)
		}
	}
}

// TestManyFreeRoomsStayFast has a group whose rooms never fill: comparing each
// with all others would take minutes.
func TestManyFreeRoomsStayFast(t *testing.T) {
	const rooms = 30_000
	c, run := check.New(options), world()
	c.Add(&run)
	for i := range rooms {
		for _, e := range (ordered{
			room: fmt.Sprint("r", i), worker: "w1", master: "m1", hold: fmt.Sprint("h", i),
			from: int64(10 * i), start: int64(10*i + 1), open: int64(10*i + 2), answered: int64(10*i + 3),
		}).events() {
			c.Add(&e)
		}
	}
	if f := c.Findings(); f.Duplicates.Overlooked+f.WarmupDuplicates.Overlooked != rooms-1 {
		t.Errorf("%+v %+v", f.Duplicates, f.WarmupDuplicates)
	}
}
