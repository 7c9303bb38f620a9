package lab

import (
	"path/filepath"
	"slices"
	"testing"

	"locklab/internal/testfile"
	"locklab/reports/series"
	"locklab/workloads/history"
)

// TestOperationsAreTheCheckers: those that were due in the warm-up too, and no empty time
// after the end of a run that was cut off.
func TestOperationsAreTheCheckers(t *testing.T) {
	const ms, zero = int64(1e6), int64(7e9)
	match := func(due, end int64, outcome string) history.Event {
		return history.Event{Kind: history.KindMatch, FromNS: zero + due*ms, SentNS: zero + due*ms, AtNS: zero + end*ms, Outcome: outcome}
	}
	var text []byte
	for _, e := range []history.Event{
		{Kind: history.KindRun, AtNS: zero - 500*ms, Run: &history.Run{
			Schema: history.Schema, Lock: "raft", Scenario: "baseline", Workload: history.Matchmaking, Repeat: 1, OfferedPS: 1, WarmupNS: 400 * ms, DurationNS: 10_000 * ms,
		}},
		{Kind: history.KindPhase, AtNS: zero - 400*ms, State: "warmup"},
		{Kind: history.KindPhase, AtNS: zero, State: "measure"},
		{Kind: history.KindAcquire, FromNS: zero, SentNS: zero, AtNS: zero + ms, Node: "m", Client: "m", Resource: "g", Outcome: "ok"},
		match(-50, 20, "ok"), match(110, 130, "failed"), match(800, 950, "unknown"),
	} {
		text = append(history.AppendJSON(text, &e), '\n')
	}
	path := filepath.Join(t.TempDir(), "history.jsonl")
	testfile.Write(t, path, text)
	h, err := Operations(t.Context(), path)
	want := []series.Op{{DueMS: -50, EndMS: 20, OK: true}, {DueMS: 110, EndMS: 130}, {DueMS: 800, EndMS: 950}}
	if err != nil || !slices.Equal(h.Ops, want) || h.DurationMS != 950 || len(h.Incomplete) == 0 {
		t.Errorf("%+v, %v", h, err)
	}
}
