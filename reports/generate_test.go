package reports_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/internal/testfile"
	"locklab/reports"
	"locklab/reports/result"
	"locklab/reports/series"
	"locklab/workloads/history"
)

var update = flag.Bool("update", false, "rewrite the golden files from what the code does now")

// golden compares data with a file under testdata/golden.
func golden(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		testfile.Write(t, path, data)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./reports -update writes it)", err)
	}
	if !bytes.Equal(want, data) {
		t.Errorf("%s differs; look at it, then go test ./reports -update:\n%s", path, cmp.Diff(lines(want), lines(data)))
	}
}

func lines(data []byte) []string { return strings.Split(string(data), "\n") }

// sample copies the fixed run under testdata to a new directory.
func sample(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "run"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func generate(t *testing.T, dirs []string, out string) {
	t.Helper()
	if err := reports.Generate(t.Context(), dirs, out, operations); err != nil {
		t.Fatal(err)
	}
}

// operations reads the matches of a history as the lab does, without judging them.
func operations(ctx context.Context, path string) (h series.History, err error) {
	r, err := history.Open(ctx, path)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	zero := int64(0)
	for {
		var e history.Event
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			return h, nil
		} else if err != nil {
			return h, err
		}
		at := func(ns int64) float64 { return float64(ns-zero) / 1e6 }
		switch {
		case e.State == "measure":
			zero = e.AtNS
		case e.State == "drain":
			h.DurationMS = at(e.AtNS)
		case e.Kind == history.KindMatch:
			h.Ops = append(h.Ops, series.Op{DueMS: at(e.FromNS), EndMS: at(e.AtNS), OK: e.Outcome == "ok"})
		}
	}
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	return testfile.Read(t, filepath.Join(path...))
}

func TestGenerateOneRun(t *testing.T) {
	dir := sample(t)
	generate(t, []string{dir}, "")
	for _, name := range []string{reports.PageFile, reports.MarkdownFile, reports.CSVFile} {
		golden(t, filepath.Join("run", name), read(t, dir, name))
	}
	page, proof := string(read(t, dir, reports.PageFile)), string(read(t, dir, reports.EvidenceFile))
	for _, link := range regexp.MustCompile(`evidence\.html#([^"]+)`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(proof, `id="`+link[1]+`"`) {
			t.Errorf("there is no evidence of %s", link[1])
		}
	}
	before := read(t, dir, reports.PageFile)
	generate(t, []string{dir}, "") // a rebuild of the same files gives the same report
	if !bytes.Equal(before, read(t, dir, reports.PageFile)) {
		t.Error("a second build of the page differs from the first")
	}
}

// TestLastWordsOfANode stand in the report, whatever they are.
func TestLastWordsOfANode(t *testing.T) {
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		f.Results[0].Faults = append(f.Results[0].Faults, result.Fault{
			Kind: "node-loss", Target: "node redis-a-1", Proven: true, Log: []string{"bind: address in use", "</pre><script>``` bye"},
		})
	})
	generate(t, []string{dir}, "")
	for name, want := range map[string]string{
		reports.PageFile:     "bind: address in use\n&lt;/pre&gt;&lt;script&gt;``` bye",
		reports.MarkdownFile: "    bind: address in use\n    </pre><script>``` bye\n",
	} {
		if text := string(read(t, dir, name)); !strings.Contains(text, want) || !strings.Contains(text, "The last that node redis-a-1 wrote") {
			t.Errorf("%s does not show %q", name, want)
		}
	}
}

// edit changes the result of the run in dir.
func edit(t *testing.T, dir string, change func(*result.File)) {
	t.Helper()
	path := filepath.Join(dir, result.FileName)
	f, err := result.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	change(&f)
	if err := result.Write(path, f); err != nil {
		t.Fatal(err)
	}
}

func TestGenerateComparison(t *testing.T) {
	first, second := sample(t), sample(t)
	edit(t, second, func(f *result.File) {
		f.Run.ID = "20261121-090000-1"
		f.Run.Host.CPUs = 16
		f.Run.Topology = "seoul-3az"
		f.Run.DurationMS *= 2
		f.Run.Versions["redis"] = "7.0.15"
		f.Run.Warnings = nil
		f.Results = f.Results[1:]
		row := &f.Results[len(f.Results)-1]
		row.Verdict.Status, row.Verdict.Liveness = result.StatusViolated, "live"
		q := row.LatencyMS
		q.P99, q.P999, q.Max = 3*q.P99, 3*q.P999, 3*q.Max
	})
	out := filepath.Join(t.TempDir(), "new", "comparison")
	generate(t, []string{first, second}, out)
	for _, name := range []string{reports.PageFile, reports.MarkdownFile, reports.CSVFile} {
		golden(t, filepath.Join("comparison", name), read(t, out, name))
	}
	text := string(read(t, out, reports.MarkdownFile))
	for _, part := range []string{"Not the same in these runs: topology, CPUs and redis", "no difference is judged", "CPUs: 2 × Example CPU at 2.80GHz in ", "not run", "+200%", "is not as expected; it was as expected"} {
		if !strings.Contains(text, part) {
			t.Errorf("the comparison does not say %q", part)
		}
	}
}

func TestGenerateErrors(t *testing.T) {
	if err := reports.Generate(t.Context(), nil, "", nil); !errors.Is(err, reports.ErrNoRuns) {
		t.Errorf("no directory: %v", err)
	}
	dir := sample(t)
	if err := reports.Generate(t.Context(), []string{dir, dir}, "", nil); err == nil || !strings.Contains(err.Error(), "directory to write to") {
		t.Errorf("several without out: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := reports.Generate(ctx, []string{dir}, "", operations); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	empty := t.TempDir()
	if err := reports.Generate(t.Context(), []string{empty}, "", nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), filepath.Join(empty, "result.json")) {
		t.Errorf("no result: %v", err)
	}
	path := filepath.Join(dir, result.FileName)
	broken := bytes.Replace(read(t, path), []byte(`"status": "expected"`), []byte(`"status": "fine"`), 1)
	testfile.Write(t, path, broken)
	err := reports.Generate(t.Context(), []string{dir}, "", nil)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "results[0].verdict.status") {
		t.Errorf("broken result: %v", err)
	}
}

func TestGenerateWithBrokenHistories(t *testing.T) {
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		f.Results[0].Histories = nil
		f.Results[1].Histories = []string{"histories/no/such.jsonl"}
		testfile.Write(t, filepath.Join(dir, "histories", "bad.jsonl"), "{\"kind\":\"match\",\"at_ns\":5}\nnot JSON\n{}\n")
		f.Results[2].Histories = append(f.Results[2].Histories, "histories/bad.jsonl")
	})
	generate(t, []string{dir}, "")
	page := string(read(t, dir, reports.PageFile))
	for _, part := range []string{"no history was kept", "such.jsonl", "bad.jsonl:2"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no note that says %q", part)
		}
	}
	if strings.Contains(page, dir) {
		t.Error("the page names a directory of this machine")
	}
}

func TestGenerateWithNothing(t *testing.T) {
	for name, text := range map[string]string{
		"zero rows": `{"schema":"locklab/result/v1","run":{"interrupted":true},"results":[]}`,
		"null rows": `{"schema":"locklab/result/v1","results":null}`,
		"bare row":  `{"schema":"locklab/result/v1","results":[{"lock":"a","scenario":"b","workload":"c"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testfile.Write(t, filepath.Join(dir, result.FileName), text)
			generate(t, []string{dir}, "")
			generate(t, []string{dir, dir}, t.TempDir())
			page := string(read(t, dir, reports.PageFile))
			if !strings.Contains(page, "</html>") || strings.Contains(page, "NaN") || strings.Contains(page, "<no value>") {
				t.Error("the page is not whole")
			}
		})
	}
}

// hostile names try to break out of HTML, SVG, scripts, Markdown, CSV and
// terminals.
const hostile = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>|`*_[a](javascript:x)\x1b[31m\n\u202E=1+1"

// escaped wants the names in the report of dir to be nothing but text.
func escaped(t *testing.T, dir string) {
	t.Helper()
	page := string(read(t, dir, reports.PageFile))
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") {
		t.Error("a name became markup in the page")
	}
	if i := strings.IndexAny(page, "\x1b\u202E"); i >= 0 {
		t.Errorf("control characters reached the page: %q", page[max(0, i-200):i+10])
	}
	for line := range strings.Lines(string(read(t, dir, reports.MarkdownFile))) {
		if strings.Contains(line, "<img src=x") && !strings.Contains(line, "`") || strings.Contains(line, "\x1b") {
			t.Errorf("a name became markup in the Markdown: %s", line)
		}
	}
	if table := string(read(t, dir, reports.CSVFile)); strings.Contains(table, "\"=cmd") || strings.Contains(table, "\n=") {
		t.Error("a name became a formula in the CSV")
	}
}

func TestGenerateEscapesHostileNames(t *testing.T) {
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		f.Run.ID, f.Run.Topology, f.Run.Command, f.Run.Commit = hostile, hostile, hostile, hostile
		f.Run.Host.CPUModel, f.Run.Warnings = hostile, []string{hostile}
		f.Run.Versions = map[string]string{hostile: hostile}
		for i := range f.Results {
			r := &f.Results[i]
			if r.Lock == "raft" {
				r.Lock = "=cmd()" + hostile
			}
			if r.Scenario == "zone-partition" {
				r.Scenario = hostile
			}
			r.Verdict.Status, r.Verdict.Why, r.Errors = result.StatusViolated, hostile, map[string]int64{hostile: 1}
			for j := range r.Faults {
				r.Faults[j].Kind, r.Faults[j].Target = hostile, hostile
			}
		}
	})
	out := t.TempDir()
	generate(t, []string{dir}, "")
	generate(t, []string{dir, sample(t)}, out)
	escaped(t, dir)
	escaped(t, out)
	if strings.Contains(table(t, files(t, dir)[0], 100, false), "\x1b") {
		t.Error("a terminal escape reached the console")
	}
}

func TestGenerateManyStaysSmall(t *testing.T) {
	dir := sample(t)
	edit(t, dir, func(f *result.File) {
		rows := f.Results
		f.Results = nil
		for i := range 120 {
			r := rows[i%len(rows)]
			r.Lock, r.Scenario = fmt.Sprint("redlock:order=sequential,retry=", i/10), fmt.Sprint("scenario-", i%10)
			f.Results = append(f.Results, r)
		}
	})
	generate(t, []string{dir}, "")
	const limit = 4 << 20
	if size := len(read(t, dir, reports.PageFile)); size > limit {
		t.Errorf("the page of 12 locks under 10 scenarios has %d bytes, more than %d", size, limit)
	}
}
