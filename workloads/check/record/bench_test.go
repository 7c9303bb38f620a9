package record_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
)

// BenchmarkRead reads a million events of 64 clients on two masters that compete for eight
// resources, as `make bench` has them.
func BenchmarkRead(b *testing.B) {
	const events = 1_000_000
	path := filepath.Join(b.TempDir(), "history.jsonl")
	w, err := history.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	w.Record(history.Event{Kind: history.KindRun, Run: &history.Run{Schema: history.Schema, Workload: "mutex", Lock: "multiphase", DurationNS: int64(time.Minute)}})
	w.Record(history.Event{Kind: history.KindPhase, State: loadgen.PhaseMeasure})
	for n := range events / 2 {
		node := fmt.Sprint("master-", n%2+1)
		at := int64(n/8+1) * int64(time.Millisecond)
		e := history.Event{
			Kind: history.KindAcquire, FromNS: at - 900_000, SentNS: at - 890_000, AtNS: at, Node: node,
			Client: fmt.Sprintf("%s/c%d", node, n%64), Hold: fmt.Sprintf("h-%s-%d", node, n), Resource: fmt.Sprint("r", n%8),
			Outcome: "ok", Token: uint64(n/8 + 1), Messages: uint64(3 * n),
		}
		w.Record(e)
		e.Kind, e.FromNS, e.SentNS, e.AtNS = history.KindRelease, at+500_000, 0, at+600_000
		w.Record(e)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := record.Read(b.Context(), path)
		if err != nil || len(r.Acquires) != events/2 {
			b.Fatal(err, len(r.Acquires))
		}
	}
}
