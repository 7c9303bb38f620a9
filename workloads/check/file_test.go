package check_test

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"locklab/internal/testfile"
	"locklab/workloads/check"
	"locklab/workloads/check/checktest"
	"locklab/workloads/history"
	"locklab/workloads/history/historytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFileIsAsEvents(t *testing.T) {
	path := writeHistory(t, 12_000) // several batches
	events, torn, err := historytest.ReadFile(t.Context(), path)
	if err != nil || torn {
		t.Fatal(torn, err)
	}
	text := testfile.Read(t, path)
	zipped := path + ".gz"
	out, err := os.Create(zipped) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(out)
	_, err = z.Write(text)
	if err := errors.Join(err, z.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	want := checktest.Events(events, options)
	for _, p := range []string{path, zipped} {
		got, err := check.File(t.Context(), p, options)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*check.Findings{got, want} {
			if f.Matches != 3600 || f.RoomsCreated != 1200 || f.Holds != 1200 || f.Fill.Count() != 1200 || f.Latency.Count() != 3600 {
				t.Errorf("%+v", f)
			}
		}
		ignore := cmp.FilterPath(func(p cmp.Path) bool {
			return strings.Contains(p.GoString(), "fairnessCount") || strings.Contains(p.GoString(), "summary")
		}, cmp.Ignore())
		same := cmp.Comparer(func(a, b check.Dist) bool {
			return a.Count() == b.Count() && a.Quantile(0.5) == b.Quantile(0.5) && a.Max() == b.Max()
		})
		if diff := cmp.Diff(want, got, ignore, same); diff != "" {
			t.Errorf("%s (-events +file):\n%s", p, diff)
		}
	}
}

func TestDamagedFiles(t *testing.T) {
	text := testfile.Read(t, writeHistory(t, 4_000))
	path := filepath.Join(t.TempDir(), "torn.jsonl")
	testfile.Write(t, path, text[:len(text)-7])
	f, err := check.File(t.Context(), path, options)
	if err != nil || len(f.Incomplete) != 1 || !strings.Contains(f.Incomplete[0].String(), "torn") {
		t.Errorf("torn: %+v, %v", f, err)
	}
	if v := check.Judge(f, history.Expect{Safety: check.Safe}); v.Status != check.Inconclusive {
		t.Errorf("torn: %+v", v)
	}

	for i := range text { // a broken line in the middle
		if i > len(text)/2 && text[i] == '\n' {
			text[i+5] = 0
			break
		}
	}
	testfile.Write(t, path, text)
	if _, err := check.File(t.Context(), path, options); err == nil || !strings.Contains(err.Error(), "torn.jsonl:") || errors.Is(err, io.EOF) {
		t.Errorf("broken: %v", err)
	}
	if _, err := check.File(t.Context(), path+"x", options); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// TestFilesThatAreNoHistoryOfARun: an error names the line, the field, and what would be
// right.
func TestFilesThatAreNoHistoryOfARun(t *testing.T) {
	head := func(change func(*history.Run)) string {
		run := history.Run{Schema: history.Schema, Lock: "raft", Scenario: "baseline", Workload: history.Matchmaking, OfferedPS: 300, DurationNS: 1e9}
		change(&run)
		return string(history.AppendJSON(nil, &history.Event{Kind: history.KindRun, AtNS: 1, Run: &run})) + "\n"
	}
	sound := head(func(*history.Run) {})
	expect := func(e history.Expect) string { return head(func(r *history.Run) { r.Expect = &e }) }
	for name, c := range map[string]struct{ text, want string }{
		"empty":               {"", "the first line is not the description of a run"},
		"another line":        {`{"kind":"phase","at_ns":1}` + "\n" + sound, ":1: the first line is not the description of a run"},
		"two runs":            {sound + `{"kind":"phase","at_ns":1}` + "\n" + sound, ":3: a second description of a run"},
		"no lock":             {head(func(r *history.Run) { r.Lock = "" }), `:1: run.lock "": want`},
		"a long lock":         {head(func(r *history.Run) { r.Lock = strings.Repeat("x", 3000) }), `xxx…": want`},
		"no workload":         {head(func(r *history.Run) { r.Workload = "" }), `:1: run.workload "": want matchmaking or mutex`},
		"another workload":    {head(func(r *history.Run) { r.Workload = "chess" }), `run.workload "chess": want`},
		"no duration":         {head(func(r *history.Run) { r.DurationNS = 0 }), "run.duration_ns 0: want at least 1000000"},
		"no load":             {head(func(r *history.Run) { r.OfferedPS = 0 }), "run.offered_per_s 0: want more than 0"},
		"less than no load":   {strings.Replace(sound, "300", "-1", 1), "run.offered_per_s: have -1"},
		"too much load":       {head(func(r *history.Run) { r.OfferedPS = 1e308 }), "run.offered_per_s 1e+308: want more than 0"},
		"an endless lease":    {head(func(r *history.Run) { r.LeaseNS = 1e18 }), "run.lease_ns: have 1000000000000000000, want 0 to"},
		"a misspelt safety":   {expect(history.Expect{Safety: "saef"}), `:1: run.expect.safety "saef": want safe or unsafe`},
		"a misspelt liveness": {expect(history.Expect{Liveness: []string{"live", "foo"}}), `run.expect.liveness "foo": want live`},
		"too available":       {expect(history.Expect{Availability: history.Availability{During: 1e300}}), "run.expect.availability 1e+300"},
	} {
		path := filepath.Join(t.TempDir(), "history.jsonl")
		testfile.Write(t, path, c.text)
		if _, err := check.File(t.Context(), path, options); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestLinesThatAreThereTwice: whatever they say.
func TestLinesThatAreThereTwice(t *testing.T) {
	text := testfile.Read(t, writeHistory(t, 4_000))
	refused := `{"kind":"acquire","at_ns":5000000,"from_ns":4000000,"node":"m1","client":"m1/c1","resource":"g1","outcome":"failed"}` + "\n"
	path := filepath.Join(t.TempDir(), "twice.jsonl")
	for n, status := range map[int]check.Status{1: check.Expected, 2: check.Inconclusive} {
		testfile.Write(t, path, append(text, strings.Repeat(refused, n)...))
		f, err := check.File(t.Context(), path, options)
		if err != nil {
			t.Fatal(err)
		}
		if v := check.Judge(f, history.Expect{Safety: check.Safe}); v.Status != status {
			t.Errorf("%d times: %s: %s", n, v.Status, v.Why)
		}
	}
}
