package lab

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/sentence"
	"locklab/nodes/topology"
	"locklab/reports/result"
	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
)

// TestPeersComeByRank although the history and the findings have another order.
func TestPeersComeByRank(t *testing.T) {
	topo, err := topology.Load("seoul-3az")
	if err != nil {
		t.Fatal(err)
	}
	events := []history.Event{
		{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Lock: "multiphase", Scenario: "baseline", Workload: history.Mutex, Topology: "seoul-3az", Repeat: 1, DurationNS: 1e9}},
		{Kind: history.KindPhase, AtNS: 1, State: "measure"},
		{Kind: history.KindPhase, AtNS: 1e9, State: "drain"},
		{Kind: history.KindPhase, AtNS: 1e9, State: "end"},
	}
	for i, master := range []string{"zz-unknown", "master-c", "master-b", "master-b"} {
		at := int64(i+1) * 1e6
		events = append(events, history.Event{
			Kind: history.KindAcquire, FromNS: 100, SentNS: 100, AtNS: at, Node: master, Client: master + "/c1",
			Hold: fmt.Sprint("h", i), Resource: "r1", Outcome: "ok",
		}, history.Event{Kind: history.KindRelease, FromNS: at + 1, AtNS: at + 2, Node: master, Hold: fmt.Sprint("h", i), Resource: "r1", Outcome: "ok"})
	}
	found := checktest.Events(events, catalog.CheckOptions())
	row := toRow(found, check.Verdict{}, history.Expect{}, nil)
	row.Peers = toPeers(found.Peers, topo)
	if len(row.Peers) != 3 || row.PeerFairness == nil || *row.PeerFairness != 16.0/(3*6) {
		t.Fatalf("%+v", row)
	}
	b, c, other := row.Peers[0], row.Peers[1], row.Peers[2]
	if b.Node != "master-b" || b.Zone != "b" || b.Rank == nil || *b.Rank != 1 || b.Acquires != 2 || b.BypassMax != 2 || b.BypassInARowMax != 2 || b.BypassMean != 2 {
		t.Errorf("%+v", b)
	}
	if c.Node != "master-c" || c.Rank == nil || *c.Rank != 2 || c.WaitMS == nil || c.WaitMS.Max < 1.9 || c.WaitMS.Max > 2.1 || c.BypassMax != 1 {
		t.Errorf("%+v", c)
	}
	if other.Rank != nil || other.Zone != "" {
		t.Errorf("%+v", other)
	}
	file := result.File{Schema: result.Schema, Run: result.Run{ID: "x"}, Results: []result.Row{row}}
	if err := result.Write(filepath.Join(t.TempDir(), result.FileName), file); err != nil {
		t.Errorf("the row cannot be written: %v", err)
	}
}

// TestRowsTellWhatTheLockIsJudgedOn: also what came before the measured part, and when.
func TestRowsTellWhatTheLockIsJudgedOn(t *testing.T) {
	found := &check.Findings{
		Run: history.Run{Lock: "redlock", Workload: history.Matchmaking}, HasRooms: true,
		Duplicates: check.Duplicates{Raced: 1, Unreachable: 4}, WarmupDuplicates: check.Duplicates{Raced: 2, Unreachable: 7},
		ViolationsNS: []int64{-5e6, -4e6, 3e6}, RecoveryNS: -1,
	}
	row := toRow(found, check.Judge(found, history.Expect{Safety: check.Safe}), history.Expect{}, nil)
	if *row.Duplicates != (result.Duplicates{Total: 5, Raced: 1, Unreachable: 4, Warmup: 2}) {
		t.Errorf("got %+v", *row.Duplicates)
	}
	if want := []float64{-5, -4, 3}; !slices.Equal(row.ViolationsAtMS, want) {
		t.Errorf("violations at %v ms, want %v", row.ViolationsAtMS, want)
	}
}

// TestWhatEndedEarlyCanBeWritten, whatever was expected of it and seen before its measured part.
func TestWhatEndedEarlyCanBeWritten(t *testing.T) {
	name := sentence.Name("a host was lost")
	for _, want := range []history.Expect{
		{},
		{Safety: check.Safe},
		{Safety: check.Unsafe},
		{Safety: check.Safe, Liveness: []string{check.Live}},
		{Safety: check.Unsafe, Liveness: []string{check.Down, check.Stalls}, Availability: history.Availability{Outside: 0.9}},
	} {
		for _, seen := range []check.Duplicates{{}, {Raced: 1}, {Unreachable: 1}} {
			for why, found := range map[string]*check.Findings{
				"given up": {GivenUp: []sentence.Text{name}}, "interrupted": {Incomplete: []sentence.Text{name}},
				"lost": {GivenUp: []sentence.Text{name}, Disturbed: true},
			} {
				found.Run = history.Run{Lock: "redlock", Scenario: "baseline", Workload: history.Matchmaking}
				found.Repeats, found.HasRooms, found.WarmupDuplicates, found.RecoveryNS, found.Liveness = 1, true, seen, -1, check.Live
				v := check.Judge(found, want)
				row := toRow(found, v, want, nil)
				if seen.Unsafe() > 0 != (v.Safety == check.Unsafe) || v.Liveness != check.LivenessNotJudged {
					t.Errorf("%s, %+v expected, %+v seen: %s and %s", why, want, seen, v.Safety, v.Liveness)
				}
				file := result.File{Schema: result.Schema, Run: result.Run{ID: "x"}, Results: []result.Row{row}}
				if err := result.Write(filepath.Join(t.TempDir(), result.FileName), file); err != nil {
					t.Errorf("%s, %+v expected, %+v seen: %v", why, want, seen, err)
				}
			}
		}
	}
}

// TestTriesAreOfEachRepeat: each as if it were alone, and what decides nothing is apart.
func TestTriesAreOfEachRepeat(t *testing.T) {
	broken := func() *check.Findings { return &check.Findings{OK: 5, AcquiredOK: 5, Granted: 5, Overlaps: 2} }
	calm := func() *check.Findings { return &check.Findings{OK: 5, AcquiredOK: 5, Granted: 5} }
	lost := func() *check.Findings {
		return &check.Findings{OK: 5, AcquiredOK: 5, Granted: 5, GivenUp: []sentence.Text{sentence.Name("no answer")}}
	}
	all := []*check.Findings{broken(), calm(), lost(), broken(), broken()}
	for _, safety := range []string{check.Safe, check.Unsafe, ""} {
		if got, want := *tries(all, history.Expect{Safety: safety}), (result.Tries{Seen: 3, Unseen: 1, Undecided: 1}); got != want {
			t.Errorf("expected %q: %+v, want %+v", safety, got, want)
		}
	}
}

// TestAllPartsBringTheirPrograms: agents are started once, for all of them.
func TestAllPartsBringTheirPrograms(t *testing.T) {
	first, err := catalog.ParsePrograms("x", []string{"mine=sh a"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := catalog.ParsePrograms("x", []string{"yours=sh b"})
	if err != nil {
		t.Fatal(err)
	}
	if got := whole([]Config{{Programs: first}, {}, {Programs: second}}).Programs; len(got) != 2 || len(first) != 1 {
		t.Errorf("%v, and the first part has %v", got, first)
	}
}
