package live

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/table"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = int64(time.Millisecond)

// aRun is two zones with a master and a worker each.
func aRun() Run {
	host := func(name, zone, role string) Host { return Host{name, zone, []Node{{name, role}}} }
	return Run{
		Key: result.Key{Lock: "raft", Scenario: "zone-partition", Workload: history.Matchmaking}, Duration: 10 * time.Second, Rooms: true, OfferedPerS: 100,
		Hosts: []Host{host("m-a", "a", "master"), host("w-a", "a", "worker"), host("m-c", "c", "master"), host("w-c", "c", "worker")},
		Links: []Link{{"m-a", "w-a", time.Millisecond}, {"m-a", "w-c", time.Millisecond}, {"m-c", "w-a", time.Millisecond}, {"m-c", "w-c", time.Millisecond}},
	}
}

func aModel(duplicates func([]history.Event) []Duplicate) *model {
	m := newModel(Info{
		Title: "a test", Runs: 2, Duplicates: duplicates,
		Zones: []Zone{{"zone a", "a"}, {"zone c", "c"}},
	})
	m.begin(aRun())
	return m
}

// recorded is a small history: a fault that begins and ends, a hold, rooms, a node that dies.
func recorded() []history.Event {
	return []history.Event{
		{Kind: history.KindRun, AtNS: 1, Run: &history.Run{Lock: "raft", Workload: history.Matchmaking}},
		{Kind: history.KindNode, AtNS: 2, Node: "w-c", State: history.NodeReady},
		{Kind: history.KindPhase, AtNS: 100 * ms, State: "measure"},
		{Kind: history.KindMatch, FromNS: 150 * ms, AtNS: 170 * ms, Outcome: "ok", Resource: "g1", Room: "r1"},
		{Kind: history.KindMatch, FromNS: 160 * ms, AtNS: 190 * ms, Outcome: "failed", Error: "timeout", Resource: "g1"},
		{Kind: history.KindAcquire, FromNS: 150 * ms, AtNS: 155 * ms, Node: "m-a", Hold: "h1", Resource: "g1", Outcome: "ok"},
		{Kind: history.KindAcquire, FromNS: 150 * ms, AtNS: 156 * ms, Node: "m-c", Hold: "h1", Resource: "g2", Outcome: "ok"},
		{Kind: history.KindReleasing, AtNS: 160 * ms, Node: "m-a", Hold: "h1", Resource: "g1"},
		{Kind: history.KindRelease, FromNS: 160 * ms, AtNS: 165 * ms, Node: "m-a", Hold: "h1", Resource: "g1", Outcome: "ok"},
		{Kind: history.KindRoom, AtNS: 157 * ms, Node: "w-a", Room: "r1", Order: "o1", Resource: "g1", State: "starting", Client: "m-a"},
		{Kind: history.KindOrder, FromNS: 155 * ms, AtNS: 158 * ms, Node: "m-a", Hold: "h1", Order: "o1", Room: "r1", Worker: "w-a", Resource: "g1", Outcome: "ok"},
		{Kind: history.KindRoom, AtNS: 300 * ms, Node: "w-a", Room: "r1", Order: "o1", Resource: "g1", State: "open", Client: "m-a"},
		{Kind: history.KindRoom, AtNS: 310 * ms, Node: "w-c", Room: "r2", Order: "o2", Resource: "g1", State: "starting", Client: "m-c"},
		{Kind: history.KindFault, AtNS: 1100 * ms, ID: "partition-1", Fault: "partition", Target: "zone:a <-> others", State: "asked", From: []string{"m-a", "w-a"}, To: []string{"m-c", "w-c"}},
		{Kind: history.KindFault, AtNS: 1110 * ms, ID: "partition-1", Fault: "partition", State: "began"},
		{Kind: history.KindNode, AtNS: 1200 * ms, Node: "m-c", State: history.NodeKilled},
	}
}

// TestFoldsInAnyOrder folds a history in the order of its file and in others: hosts' events
// come as they arrive.
func TestFoldsInAnyOrder(t *testing.T) {
	seen := func(events []history.Event) (holds map[holdKey]bool, rooms map[string]string, ways []plots.Way) {
		m := aModel(nil)
		for i := range events {
			m.add(&events[i])
		}
		rooms = map[string]string{}
		for name, r := range m.rooms.byName {
			rooms[name] = r.state
		}
		return m.holds, rooms, m.drawing(lang.English()).Between
	}
	events := recorded()
	wantHolds, wantRooms, wantWays := seen(events)
	if len(wantHolds) != 0 { // one was released, the other one's holder was killed
		t.Errorf("holds %v, want none", wantHolds)
	}
	if want := map[string]string{"r1": "open", "r2": "starting"}; !reflect.DeepEqual(wantRooms, want) {
		t.Errorf("rooms %v, want %v", wantRooms, want)
	}
	if len(wantWays) != 2 || !wantWays[0].Cut || !wantWays[1].Cut {
		t.Errorf("ways between the zones %+v, want both cut", wantWays)
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // an order to try
	for range 200 {
		// Of one node and one fault events come in order; between them anything goes.
		shuffled := make([]history.Event, 0, len(events))
		by := map[string][]history.Event{}
		var names []string
		for _, e := range events[3:] {
			key := e.Node + e.ID + e.Client
			if by[key] == nil {
				names = append(names, key)
			}
			by[key] = append(by[key], e)
		}
		shuffled = append(shuffled, events[:3]...)
		for len(names) > 0 {
			n := random.IntN(len(names))
			key := names[n]
			shuffled = append(shuffled, by[key][0])
			if by[key] = by[key][1:]; len(by[key]) == 0 {
				names = append(names[:n], names[n+1:]...)
			}
		}
		holds, rooms, ways := seen(shuffled)
		if !reflect.DeepEqual(rooms, wantRooms) || !reflect.DeepEqual(ways, wantWays) || len(holds) != 0 {
			t.Fatalf("in another order: holds %v, rooms %v, ways %v", holds, rooms, ways)
		}
	}
}

// TestDuplicatesAreTheCheckers shows what the checker says, also when it changes its mind,
// and counts each room once.
func TestDuplicatesAreTheCheckers(t *testing.T) {
	var found []Duplicate
	m := aModel(func(events []history.Event) []Duplicate {
		if events[0].Kind != history.KindRun {
			t.Errorf("the first event is %s: want the run", events[0].Kind)
		}
		return found
	})
	events := recorded()
	for i := range events {
		m.add(&events[i])
	}
	for _, c := range []struct {
		what                    string
		found                   []Duplicate
		duplicates, unreachable int64
		marks                   int
	}{
		{"a duplicate", []Duplicate{{Room: "r2", AtNS: 310 * ms}}, 1, 0, 1},
		{"an unreachable one", []Duplicate{{Room: "r2", Unreachable: true, AtNS: 310 * ms}}, 0, 1, 0},
		{"a duplicate after all", []Duplicate{{Room: "r2", AtNS: 310 * ms}}, 1, 0, 1},
		{"none", nil, 0, 0, 0},
	} {
		found, m.rooms.changed = c.found, true
		m.judge(1300 * ms)
		marks := m.chart(1500 * ms).Bins[2].Violations
		if duplicates, unreachable := m.rooms.count(); duplicates != c.duplicates || unreachable != c.unreachable || marks != c.marks {
			t.Errorf("%s: %d duplicates, %d unreachable, %d marks, want %+v", c.what, duplicates, unreachable, marks, c)
		}
	}
}

// logOf is the log in English, the newest line first.
func logOf(m *model) string {
	var all []string
	for _, l := range linesOf(lang.English(), m) {
		all = append(all, strings.TrimSpace(l.At+" "+l.Text))
	}
	return strings.Join(all, "\n")
}

// TestCanariesAreNotShown: they count in nothing but outages.
func TestCanariesAreNotShown(t *testing.T) {
	m := aModel(nil)
	m.run.Rooms = false
	m.add(&history.Event{Kind: history.KindPhase, AtNS: 100 * ms, State: "measure"})
	m.add(&history.Event{Kind: history.KindAcquire, FromNS: 150 * ms, AtNS: 155 * ms, Node: "m-a", Hold: "h1", Resource: history.CanaryPrefix + "m-a", Outcome: "ok"})
	if len(m.holds) != 0 || m.all != 0 {
		t.Errorf("%d holds, %d operations, want none", len(m.holds), m.all)
	}
}

// TestRoomsAreJudgedHoweverLate: on a busy machine nobody may judge for longer than a
// judgement takes to settle, and what began meanwhile is judged all the same.
func TestRoomsAreJudgedHoweverLate(t *testing.T) {
	m := aModel(func(events []history.Event) (all []Duplicate) {
		for _, e := range events {
			if e.Kind == history.KindRoom && e.Room == "r2" {
				all = append(all, Duplicate{Room: "r2", AtNS: e.AtNS})
			}
		}
		return all
	})
	m.add(&history.Event{Kind: history.KindRun, AtNS: 1, Run: &history.Run{}})
	m.judge(100 * ms)
	m.add(&history.Event{Kind: history.KindRoom, AtNS: 200 * ms, Node: "w-a", Room: "r1", Resource: "g1", State: "starting"})
	m.add(&history.Event{Kind: history.KindRoom, AtNS: 300 * ms, Node: "w-c", Room: "r2", Resource: "g1", State: "full"})
	late := int64(keepTime) + 1000*ms
	for _, atNS := range []int64{late, 2 * late, 3 * late} { // and it keeps its judgement
		m.rooms.changed = true
		m.judge(atNS)
		if n, _ := m.rooms.count(); n != 1 {
			t.Errorf("judged after %v: %d duplicates, want 1", time.Duration(atNS), n)
		}
	}
}

// TestLogIsByTime: what is heard of late stands where it happened.
func TestLogIsByTime(t *testing.T) {
	m := aModel(nil)
	m.add(&history.Event{Kind: history.KindPhase, AtNS: 100 * ms, State: "measure"})
	for _, e := range recorded()[13:] { // their times are 1100, 1110 and 1200 ms
		m.add(&e)
	}
	m.add(&history.Event{Kind: history.KindFault, AtNS: 3100 * ms, ID: "partition-1", State: "ended"})
	m.add(&history.Event{Kind: history.KindNode, AtNS: 3000 * ms, Node: "m-c", State: history.NodeReady})
	want := strings.Join([]string{
		"3.0 s partition between zone:a and others: healed, and proven",
		"2.9 s m-c: is ready",
		"1.1 s m-c: was killed",
		"1.0 s partition between zone:a and others: broken, and proven",
	}, "\n")
	if have := logOf(m); have != want {
		t.Errorf("the log says\n%s\nwant\n%s", have, want)
	}
	m.begin(aRun()) // its lines stay
	if have := logOf(m); have != want {
		t.Errorf("in the next run the log says\n%s\nwant\n%s", have, want)
	}
}

// TestPartialWays tells a single link from a whole zone, and one way from both.
func TestPartialWays(t *testing.T) {
	for _, c := range []struct {
		name    string
		fault   history.Event
		between int // that are not well
		cut     bool
	}{
		{"one way", history.Event{Fault: "partition", Aim: &history.Aim{OneWay: true}, From: []string{"m-a", "w-a"}, To: []string{"m-c", "w-c"}}, 1, true},
		{"slow between zones", history.Event{Fault: "latency", Target: "zones", From: []string{"m-a", "w-a", "m-c", "w-c"}, To: []string{"m-a", "w-a", "m-c", "w-c"}, DelayNS: 40 * ms}, 2, false},
		{"one link", history.Event{Fault: "partition", Target: "node:m-a <-> node:w-c", From: []string{"m-a"}, To: []string{"w-c"}}, 2, false},
		{"slowed by a fault of any kind", history.Event{Fault: "new-kind", From: []string{"m-a", "w-a"}, To: []string{"m-c", "w-c"}, DelayNS: 40 * ms}, 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := aModel(nil)
			e := c.fault
			e.Kind, e.ID, e.State, e.AtNS = history.KindFault, "f", "began", 5
			m.add(&e)
			d := m.drawing(lang.English())
			bad := 0
			for _, w := range d.Between {
				if w.Cut || w.Slow {
					bad++
					if w.Cut != c.cut {
						t.Errorf("%+v: want cut %v", w, c.cut)
					}
				}
			}
			if bad != c.between {
				t.Errorf("%d ways between zones are not well, want %d: %+v", bad, c.between, d)
			}
		})
	}
}

func grids(*lang.Lang, result.File) []table.Table {
	return []table.Table{{Columns: table.Heads("=lock"), Rows: [][]table.Cell{table.Row("raft")}}}
}

// board is one that is shown until the test ends.
func board(t *testing.T) *Board {
	t.Helper()
	return boardOf(t, Info{Title: "a <test>", Runs: 1, Rooms: true, Zones: []Zone{{"zone a", "a"}, {"zone c", "c"}}, Grids: grids})
}

func boardOf(t *testing.T, info Info) *Board {
	t.Helper()
	b := New(info)
	ctx, cancel := context.WithCancel(context.Background())
	var shown sync.WaitGroup
	shown.Go(func() { b.Show(ctx) })
	t.Cleanup(func() {
		cancel()
		shown.Wait()
	})
	return b
}

func served(t *testing.T, b *Board) *httptest.Server {
	t.Helper()
	h := b.Handler()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// TestSlowViewerDelaysNobody has one viewer that never reads beside one that sees everything new, and
// more of them than may look.
func TestSlowViewerDelaysNobody(t *testing.T) {
	b := board(t)
	b.Begin(aRun())
	s := served(t, b)
	look := func() *http.Response {
		response, err := http.Get(s.URL + "/events?lang=en")
		must.Do(t, err)
		t.Cleanup(func() { _ = response.Body.Close() })
		return response
	}
	_ = look()
	frames := bufio.NewReader(look().Body)
	for i := range 3 {
		name := fmt.Sprintf("a note %d", i)
		b.Note(name)
		for line := ""; !strings.Contains(line, name); {
			var err error
			line, err = frames.ReadString('\n')
			must.Do(t, err)
		}
	}
	for range maxViewers - 2 {
		_ = look()
	}
	if have := look().StatusCode; have != http.StatusServiceUnavailable {
		t.Errorf("one viewer too many gets %d, want 503", have)
	}
}

// TestRecordingWaitsForNobody records with nobody folding: the lab goes on.
func TestRecordingWaitsForNobody(t *testing.T) {
	b := New(Info{Runs: 1})
	const events = 10_000
	for range events {
		b.Record(history.Event{Kind: history.KindMatch})
	}
	if len(b.inbox) != events {
		t.Errorf("%d events wait, want %d", len(b.inbox), events)
	}
	var none *Board
	none.Record(history.Event{})
	none.Begin(Run{})
	none.End(result.File{}, result.Row{})
}

// TestOfferedRateIsDrawnAsItWas: what was set before the measured part holds from its
// beginning on, and what comes later changes nothing of what was.
func TestOfferedRateIsDrawnAsItWas(t *testing.T) {
	m := aModel(nil)
	for _, e := range []history.Event{
		{Kind: history.KindRate, AtNS: 40 * ms, Count: 50},
		{Kind: history.KindPhase, AtNS: 100 * ms, State: "measure"},
		{Kind: history.KindRate, AtNS: 2100 * ms, Count: 600},
		{Kind: history.KindRate, AtNS: 4100 * ms, Count: 200},
	} {
		m.add(&e)
	}
	want := []plots.Offered{{FromMS: 0, PerS: 50}, {FromMS: 2000, PerS: 600}, {FromMS: 4000, PerS: 200}}
	if !reflect.DeepEqual(m.offered, want) {
		t.Errorf("offered %v, want %v", m.offered, want)
	}
}
