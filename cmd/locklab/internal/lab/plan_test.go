package lab

import (
	"encoding/json"
	"testing"
	"time"

	"locklab/cmd/locklab/internal/nodebody"
	"locklab/locks"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/reports/result"
	"locklab/workloads/check"
	"locklab/workloads/history"
)

func planFor(t *testing.T, topologyName, lock string) plan {
	t.Helper()
	topo, err := topology.Load(topologyName)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := locks.ParseSpec(lock)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPlan(&Config{Topology: topo, Seats: DefaultSeats}, spec, "test", 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPlanStartsOnlyWhatTheLockNeeds: and links exactly what dials.
func TestPlanStartsOnlyWhatTheLockNeeds(t *testing.T) {
	tests := []struct {
		lock              string
		nodes, wires, far int // far: wires from masters to what the lock talks to
	}{
		{"none", 2 + 6, 2 * 6, 0},
		{"multiphase", 2 + 6, 2*6 + 2, 2},
		{"redlock", 2 + 6 + 5, 2*6 + 2*5, 10},
		{"raft", 2 + 6 + 3, 2*6 + 2*3 + 3*2, 6},
	}
	for _, tt := range tests {
		p := planFor(t, "seoul-2az", tt.lock)
		if got := len(p.topo.Nodes()); got != tt.nodes {
			t.Errorf("%s: %d nodes, want %d", tt.lock, got, tt.nodes)
		}
		if len(p.wires) != tt.wires || len(p.lockHostPairs()) != tt.far {
			t.Errorf("%s: %d wires, %d of them to the lock; want %d and %d", tt.lock, len(p.wires), len(p.lockHostPairs()), tt.wires, tt.far)
		}
		for _, pair := range p.hostPairs() {
			if pair[0] == pair[1] {
				t.Errorf("%s: %s is linked with itself", tt.lock, pair[0])
			}
		}
	}
}

// TestSettingsNameTheDialersOwnLinks: every node is told the address of its own
// link, never that of another host or of the node behind it.
func TestSettingsNameTheDialersOwnLinks(t *testing.T) {
	p := planFor(t, "seoul-2az", "raft")
	for i, w := range p.wires {
		p.set(w, "127.0.0.1:"+w.from.Name+">"+w.to.Name)
		if p.addr(w) == "" {
			t.Fatalf("wire %d has no address", i)
		}
	}
	for _, m := range p.topo.NodesOf(role.Master) {
		settings, ok := p.settings(m).(nodebody.Master)
		if !ok {
			t.Fatalf("settings of a master are %T", p.settings(m))
		}
		if len(settings.Lock.Servers) != 3 {
			t.Errorf("%s has %d servers", m.Name, len(settings.Lock.Servers))
		}
		for _, s := range settings.Lock.Servers {
			if want := "127.0.0.1:" + m.Name + ">" + s.Name; s.Addr != want {
				t.Errorf("%s reaches %s at %s, want %s", m.Name, s.Name, s.Addr, want)
			}
		}
		if text, err := json.Marshal(settings); err != nil || len(text) == 0 {
			t.Errorf("settings of %s: %v", m.Name, err)
		}
	}
}

func TestBaseDelayIsDrawnAroundHalfTheRoundTrip(t *testing.T) {
	d := oneWay(topology.RTT{RTT: time.Millisecond, Jitter: 100 * time.Microsecond})
	if d.Base != 450*time.Microsecond || d.Jitter != 100*time.Microsecond {
		t.Errorf("%+v: want 450 to 550 us, whose middle is half of a millisecond", d)
	}
	if d := oneWay(topology.RTT{RTT: 2, Jitter: 100}); d.Base < 0 {
		t.Errorf("a negative delay: %+v", d)
	}
}

// TestTheFirstEventIsTheDescription although others are recorded before it is known.
func TestTheFirstEventIsTheDescription(t *testing.T) {
	var got []history.Kind
	h := &headed{out: recorderFunc(func(e history.Event) { got = append(got, e.Kind) })}
	h.Record(history.Event{Kind: history.KindNode})
	h.Begin(history.Event{Kind: history.KindRun})
	h.Record(history.Event{Kind: history.KindRoom})
	h.Begin(history.Event{Kind: history.KindRun}) // does nothing
	if len(got) != 3 || got[0] != history.KindRun || got[1] != history.KindNode || got[2] != history.KindRoom {
		t.Errorf("%v", got)
	}
}

type recorderFunc func(history.Event)

func (f recorderFunc) Record(e history.Event) { f(e) }

func TestRowsAreValidResults(t *testing.T) {
	found := check.Events([]history.Event{
		{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "none", Scenario: "baseline", Workload: Matchmaking, Topology: "seoul-2az", Repeat: 1, DurationNS: 1e9}},
		{Kind: history.KindPhase, AtNS: 1, State: "measure"},
		{Kind: history.KindAcquire, FromNS: 10, AtNS: 15, Node: "m", Client: "m", Resource: "g", Hold: "h", Outcome: "ok"},
		{Kind: history.KindMatch, FromNS: 10, SentNS: 20, AtNS: 30, Node: "m", Resource: "g", Outcome: "ok"},
		{Kind: history.KindPhase, AtNS: 1e9, State: "drain"},
		{Kind: history.KindPhase, AtNS: 1e9, State: "end"},
	}, check.Options{})
	want := check.Expectation{Safety: check.Unsafe, Liveness: []check.Liveness{check.Live}}
	row := toRow(found, check.Judge(found, want), want, []string{"histories/none/x.jsonl"})
	if row.Verdict.Status != result.StatusControlSilent || row.Matches != 1 {
		t.Errorf("%+v", row)
	}
	file := result.File{Schema: result.Schema, Run: result.Run{ID: "x", Topology: "seoul-2az"}, Results: []result.Row{row}}
	if err := result.Write(t.TempDir()+"/"+result.FileName, file); err != nil {
		t.Errorf("the row cannot be written: %v", err)
	}
}
