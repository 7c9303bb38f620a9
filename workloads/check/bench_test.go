package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"locklab/workloads/check"
	"locklab/workloads/history"
)

// writeHistory writes a mutex history of about n events and a matchmaking history
// woven into it, so that every checker has work.
func writeHistory(tb testing.TB, n int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "history.jsonl")
	w, err := history.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	run := world()
	end := int64(n)/10 + 1000 // ms: ten events each millisecond
	run.Run.DurationNS = end * ms
	w.Record(run)
	for _, e := range phases(0, end, end) {
		w.Record(e)
	}
	for i := 0; i < n; i += 10 {
		at, master, worker := int64(i)*100_000, fmt.Sprint("m", i/10%2+1), fmt.Sprint("w", i/10%2+1)
		hold, group, room := fmt.Sprint("h-", master, "-", i), fmt.Sprint("g", i/10%20), fmt.Sprint(worker, "-", i)
		for p := range int64(3) {
			w.Record(history.Event{Kind: history.KindMatch, FromNS: at + p, SentNS: at + p + 1000, AtNS: at + 900_000, Node: master, Client: fmt.Sprint("p", i, p), Resource: group, Room: room, Worker: worker, Outcome: "ok"})
		}
		w.Record(history.Event{Kind: history.KindAcquire, FromNS: at, AtNS: at + 100_000, Node: master, Client: master + "/c1", Hold: hold, Resource: group, Outcome: "ok", Token: uint64(i + 1), Messages: uint64(i)})
		w.Record(history.Event{Kind: history.KindOrder, FromNS: at + 110_000, AtNS: at + 300_000, Node: master, Hold: hold, Resource: group, Order: "o-" + room, Worker: worker, Room: room, Outcome: "ok"})
		for s, state := range []string{"starting", "open", "full", "closed"} {
			w.Record(history.Event{Kind: history.KindRoom, AtNS: at + 120_000 + int64(s)*100_000, Node: worker, Room: room, Order: "o-" + room, Resource: group, State: state})
		}
		w.Record(history.Event{Kind: history.KindRelease, FromNS: at + 310_000, AtNS: at + 400_000, Node: master, Client: master + "/c1", Hold: hold, Resource: group, Outcome: "ok", Token: uint64(i + 1), Messages: uint64(i)})
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// BenchmarkFile reads and checks a million events: the goal is one second, the
// limit three seconds and 500 MB.
func BenchmarkFile(b *testing.B) {
	path := writeHistory(b, 1_000_000)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	runtime.GC()
	for b.Loop() {
		f, err := check.File(b.Context(), path, options)
		if err != nil || f.Events < 1_000_000 || f.Duplicates.Total() != 0 || f.Overlaps != 0 || f.TokensBroken != 0 {
			b.Fatalf("%v: %+v", err, f)
		}
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	b.ReportMetric(float64(stats.Sys)/(1<<20), "MB-of-system")
}

// BenchmarkMutexFile is the same for a history of acquisitions and releases alone:
// 24 clients of three masters wait for few resources or for many.
func BenchmarkMutexFile(b *testing.B) {
	for _, resources := range []int64{1, 100_000} {
		b.Run(fmt.Sprint("resources=", resources), func(b *testing.B) {
			path := writeMutexHistory(b, 1_000_000, resources)
			runtime.GC()
			for b.Loop() {
				f, err := check.File(b.Context(), path, options)
				if err != nil || f.Events < 1_000_000 || f.Overlaps != 0 || len(f.Peers) != 3 || f.PeerFairness < 0.99 {
					b.Fatalf("%v: %+v", err, f)
				}
			}
		})
	}
}

func writeMutexHistory(tb testing.TB, n int, resources int64) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "history.jsonl")
	w, err := history.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	end := int64(n) + 1000 // ms: two events each 2 ms
	run := mutexRun()
	run.Run.DurationNS = end * ms
	w.Record(run)
	for _, e := range phases(0, end, end) {
		w.Record(e)
	}
	for i := range int64(n / 2) {
		at, client := (2*i+100)*ms, i%24
		master := fmt.Sprint("m", client%3)
		hold, resource := fmt.Sprint("h-", i), fmt.Sprint("r", i*7919%resources)
		w.Record(history.Event{Kind: history.KindAcquire, FromNS: at - 40*ms, SentNS: at - 40*ms, AtNS: at, Node: master, Client: fmt.Sprint(master, "/c", client), Hold: hold, Resource: resource, Outcome: "ok", Messages: uint64(6 * i)})
		w.Record(history.Event{Kind: history.KindRelease, FromNS: at + ms, AtNS: at + ms + 1000, Node: master, Client: fmt.Sprint(master, "/c", client), Hold: hold, Resource: resource, Outcome: "ok", Messages: uint64(6*i + 3)})
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}
