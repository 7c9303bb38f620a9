package series_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"locklab/locks/clock"
	"locklab/reports/series"
	"locklab/workloads/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ms   = int64(1e6)
	zero = int64(7e9) // when the measured part begins
)

func at(msSinceZero int64) int64 { return zero + msSinceZero*ms }

// run frames events with what every history has.
func run(durationMS int64, events ...history.Event) []history.Event {
	all := []history.Event{
		{Kind: history.KindRun, AtNS: at(-500), Run: &history.Run{Schema: history.Schema, WarmupNS: 400 * ms, DurationNS: durationMS * ms}},
		{Kind: history.KindPhase, AtNS: at(-400), State: "warmup"},
		{Kind: history.KindPhase, AtNS: at(0), State: "measure"},
	}
	all = append(all, events...)
	return append(all, history.Event{Kind: history.KindPhase, AtNS: at(durationMS), State: "drain"},
		history.Event{Kind: history.KindPhase, AtNS: at(durationMS + 100), State: "end"})
}

func write(t interface {
	Helper()
	Fatal(...any)
}, path string, events []history.Event,
) string {
	t.Helper()
	f, err := os.Create(path) //nolint:gosec // in the test's directory
	if err != nil {
		t.Fatal(err)
	}
	w := history.NewWriter(f, clock.System())
	for _, e := range events {
		w.Record(e)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func match(fromMS, atMS int64, outcome string) history.Event {
	return history.Event{Kind: history.KindMatch, FromNS: at(fromMS), AtNS: at(atMS), Outcome: outcome}
}

func read(t *testing.T, histories ...[]history.Event) series.Series {
	t.Helper()
	var paths []string
	for i, events := range histories {
		paths = append(paths, write(t, filepath.Join(t.TempDir(), fmt.Sprintf("%d.jsonl", i)), events))
	}
	s, err := series.Read(t.Context(), paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestBins(t *testing.T) {
	nan := math.NaN()
	s := read(t, run(400,
		match(-50, 20, "ok"), // due in the warm-up, answered in the first bin
		match(10, 15, "ok"), match(20, 40, "ok"), match(30, 250, "ok"),
		match(110, 130, "failed"), match(120, 180, "unknown"),
		history.Event{Kind: history.KindAcquire, FromNS: at(300), AtNS: at(310), Outcome: "ok"},
		history.Event{Kind: history.KindAcquire, FromNS: at(300), AtNS: at(320), Outcome: "failed"},
	))
	want := []series.Bin{
		{AtMS: 0, OKPerS: 30, P50MS: 20, P99MS: 220, Availability: 1},
		{AtMS: 100, OtherPerS: 20, P50MS: nan, P99MS: nan, Availability: 0},
		{AtMS: 200, OKPerS: 10, P50MS: nan, P99MS: nan, Availability: nan},
		{AtMS: 300, GrantsPerS: 10, P50MS: nan, P99MS: nan, Availability: nan},
	}
	sameNaN := cmp.Comparer(func(a, b float64) bool { return a == b || (math.IsNaN(a) && math.IsNaN(b)) })
	if diff := cmp.Diff(want, s.Bins, sameNaN); diff != "" {
		t.Error(diff)
	}
	if s.Subject != "matches" || s.BinMS != 100 || s.DurationMS != 400 {
		t.Errorf("subject %q, bins of %v ms, %v ms long", s.Subject, s.BinMS, s.DurationMS)
	}
	if last := s.Quantiles[len(s.Quantiles)-1]; last.MS != 220 {
		t.Errorf("the largest latency is %v, want 220", last.MS)
	}
}

func TestRepeatsAreLaidOverEachOther(t *testing.T) {
	one := run(200, match(10, 20, "ok"), match(12, 20, "ok"))
	two := run(200)
	for i := range two {
		two[i].AtNS += 900 * ms // another run on the same clock
	}
	s := read(t, one, two)
	if s.Repeats != 2 || s.Bins[0].OKPerS != 10 {
		t.Errorf("%d repeats with %v per second, want 2 with a mean of 10", s.Repeats, s.Bins[0].OKPerS)
	}
}

func TestSubjectIsTheLockWithoutMatches(t *testing.T) {
	s := read(t, run(100, history.Event{Kind: history.KindAcquire, FromNS: at(10), AtNS: at(14), Outcome: "ok"}))
	if s.Subject != "acquisitions" || s.Bins[0].OKPerS != 10 || s.Bins[0].P50MS != 4 {
		t.Errorf("subject %q, first bin %+v", s.Subject, s.Bins[0])
	}
}

func TestInterruptedRunEndsWhereItEnded(t *testing.T) {
	events := run(10_000, match(10, 20, "ok"), match(800, 950, "ok"))
	events = events[:len(events)-2] // killed before it could say so
	if s := read(t, events); s.DurationMS != 950 || len(s.Bins) != 10 {
		t.Errorf("%v ms in %d bins, want 950 in 10", s.DurationMS, len(s.Bins))
	}
}

func TestLongRunsHaveWiderBins(t *testing.T) {
	s := read(t, run(3_600_000, match(10, 20, "ok")))
	if len(s.Bins) > 300 || math.Mod(s.BinMS, 100) != 0 {
		t.Errorf("%d bins of %v ms", len(s.Bins), s.BinMS)
	}
}

func TestWindows(t *testing.T) {
	fault := func(id, state string, atMS int64) history.Event {
		return history.Event{Kind: history.KindFault, ID: id, Fault: "latency", Target: "zone:a", State: state, AtNS: at(atMS)}
	}
	s := read(t, run(1000,
		fault("late", "asked", 500), fault("late", "began", 510), fault("late", "heal-asked", 600), fault("late", "ended", 620),
		fault("asked-only", "asked", 100), fault("asked-only", "unproven", 150), fault("asked-only", "heal-asked", 200),
		fault("open", "asked", 700), fault("open", "began", 705),
		fault("no-times", "unproven", 750),
	))
	want := []series.Window{
		{Kind: "latency", Target: "zone:a", FromMS: 100, ToMS: 200},
		{Kind: "latency", Target: "zone:a", FromMS: 510, ToMS: 620, Proven: true},
		{Kind: "latency", Target: "zone:a", FromMS: 705, ToMS: 1000, Proven: true},
	}
	if diff := cmp.Diff(want, s.Faults); diff != "" {
		t.Error(diff)
	}
}

func TestBrokenHistories(t *testing.T) {
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good.jsonl"), run(200, match(10, 20, "ok")))
	data, err := os.ReadFile(good) //nolint:gosec // in the test's directory
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"torn.jsonl":  string(data[:len(data)-9]),
		"bad.jsonl":   "{}\nnothing\n{}\n",
		"empty.jsonl": "",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := series.Read(t.Context(), []string{good, filepath.Join(dir, "torn.jsonl"), filepath.Join(dir, "bad.jsonl"), filepath.Join(dir, "empty.jsonl"), filepath.Join(dir, "none.jsonl")}, nil)
	if s.Repeats != 2 || !s.Torn || s.Bins[0].OKPerS != 10 {
		t.Errorf("the good ones are not there: %d repeats, torn %v", s.Repeats, s.Torn)
	}
	for _, part := range []string{"bad.jsonl:2", "empty.jsonl: no events", "none.jsonl"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v does not say %q", err, part)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := series.Read(ctx, []string{good}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if s, err := series.Read(t.Context(), nil, nil); err != nil || len(s.Bins) != 0 {
		t.Errorf("no histories: %v, %v", s, err)
	}
}

func BenchmarkRead(b *testing.B) {
	events := make([]history.Event, 0, 200_000)
	for i := range int64(200_000) {
		events = append(events, match(i/10, i/10+3, "ok"))
	}
	path := write(b, filepath.Join(b.TempDir(), "history.jsonl"), run(20_000, events...))
	for b.Loop() {
		if _, err := series.Read(b.Context(), []string{path}, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(events))*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
