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

	"locklab/workloads/check"
	"locklab/workloads/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFileIsAsEvents(t *testing.T) {
	path := writeHistory(t, 12_000) // several batches
	events, torn, err := history.ReadFile(t.Context(), path)
	if err != nil || torn {
		t.Fatal(torn, err)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the test's own
	if err != nil {
		t.Fatal(err)
	}
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
	want := check.Events(events, check.Options{})
	for _, p := range []string{path, zipped} {
		got, err := check.File(t.Context(), p, check.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []*check.Findings{got, want} {
			if f.Matches != 3600 || f.RoomsCreated != 1200 || f.Holds != 1200 || f.Fill.Count() != 1200 || f.Latency.Count() != 3600 {
				t.Errorf("%+v", f)
			}
		}
		ignore := cmp.FilterPath(func(p cmp.Path) bool {
			return strings.Contains(p.GoString(), "fairnessCount")
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
	text, err := os.ReadFile(writeHistory(t, 4_000))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "torn.jsonl")
	if err := os.WriteFile(path, text[:len(text)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := check.File(t.Context(), path, check.Options{})
	if err != nil || len(f.Incomplete) != 1 || !strings.Contains(f.Incomplete[0], "torn") {
		t.Errorf("torn: %+v, %v", f, err)
	}
	if v := check.Judge(f, check.Expectation{Safety: check.Safe}); v.Status != check.Inconclusive {
		t.Errorf("torn: %+v", v)
	}

	for i := range text { // a broken line in the middle
		if i > len(text)/2 && text[i] == '\n' {
			text[i+5] = 0
			break
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := check.File(t.Context(), path, check.Options{}); err == nil || !strings.Contains(err.Error(), "torn.jsonl:") || errors.Is(err, io.EOF) {
		t.Errorf("broken: %v", err)
	}
	if _, err := check.VisualizeFile(t.Context(), io.Discard, path, check.Window{}); err == nil {
		t.Error("a broken file was drawn")
	}
	if _, err := check.File(t.Context(), path+"x", check.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}
