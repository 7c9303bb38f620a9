package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/cmd/locklab/internal/lab"
	"locklab/cmd/locklab/internal/levels"
	"locklab/internal/must"
	"locklab/internal/strictjson"
	"locklab/internal/testfile"
	"locklab/workloads/result"
)

// TestLevelsKeepRunsOfOtherFlags: a run of the directory that was made with other flags is refused, and stays. So is a
// directory in which another one works.
func TestLevelsKeepRunsOfOtherFlags(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none", "crowd", result.FileName)
	file := result.File{Schema: result.Schema, Run: result.Run{Args: strings.Fields("run --locks none --repeat 2")}}
	leave(t, path, file)
	for _, jobs := range []string{"0", "1"} {
		code, said := call(t, "levels", "none", "--jobs", jobs, "--out", dir)
		if code != exitCannotRun || !strings.Contains(said, filepath.Dir(path)+" has a run with other flags than --locks none") {
			t.Errorf("--jobs %s: exit code %d: %s", jobs, code, said)
		}
	}
	if _, err := result.Read(path); err != nil {
		t.Error(err)
	}
	log, _, err := lab.OpenLog(dir)
	must.Do(t, err)
	defer func() { _ = log.Close() }()
	code, said := call(t, "levels", "none", "--jobs", "1", "--out", dir)
	if want := "--out: lock " + filepath.Join(dir, lab.LogFile) + ": another run works"; code != exitCannotRun || !strings.Contains(said, want) {
		t.Errorf("exit code %d: %s, want %q", code, said, want)
	}
}

// leave writes what a run has left.
func leave(t *testing.T, path string, f result.File) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, result.Write(path, f))
}

// row is a run of none in the workload handoff.
func row(seed uint64, safety result.State, as result.Comparison) result.Row {
	r := result.Row{Lock: "none", Scenario: "herd", Workload: "handoff", Seed: seed, History: "one.jsonl"}
	r.Verdict = result.Verdict{
		Sound: result.Statement{State: result.OK}, Safety: result.Statement{State: safety}, As: as,
	}
	return r
}

// TestLevelsRunAgainAlone: what decided nothing is run once more, alone; a control that was silent has decided.
func TestLevelsRunAgainAlone(t *testing.T) {
	dir := t.TempDir()
	silent := row(1, result.OK, result.Silent)
	silent.Verdict.Why.Code = result.ControlSilent
	unsound := row(2, result.OK, result.Unsound)
	unsound.Verdict.Sound = result.Statement{State: result.Unknown, Code: result.Saturated}
	var jobs []job
	for lock, r := range map[string]result.Row{
		"silent": silent, "late": unsound, "unsound": unsound, "decided": row(3, result.OK, result.AsExpected),
	} {
		at := filepath.Join(dir, lock)
		leave(t, at+".json", result.File{Rows: []result.Row{r}})
		jobs = append(jobs, job{of: levels.Result{Lock: lock}, run: "crash", dir: at, flags: []string{"--locks", lock}})
	}
	// It leaves the result that is beside its directory. The first four wait for each other.
	own := filepath.Join(dir, "locklab")
	testfile.Write(t, own, `#!/bin/sh
for word; do
	case $before in --out | --resume) dir=$word ;; esac
	before=$word
done
log=${0%/*}/log
left=nothing
test ! -e "$dir/result.json" || left=result
echo "begin ${dir##*/} $4 $left" >>"$log"
until test "$(grep -c begin "$log")" -ge 4; do sleep 0.01; done
mkdir -p "$dir" && cp "$dir.json" "$dir/result.json"
echo "end ${dir##*/}" >>"$log"
`)
	must.Do(t, os.Chmod(own, 0o700))
	must.Do(t, makeAll(t.Context(), jobs, own, 4, io.Discard))

	said := strings.Split(strings.TrimSpace(string(testfile.Read(t, filepath.Join(dir, "log")))), "\n")
	var again []string
	for pair := range slices.Chunk(said[8:], 2) { // a run ends before the next begins
		again = append(again, strings.Join(pair, ", "))
	}
	slices.Sort(again)
	want := []string{"begin late --resume result, end late", "begin unsound --resume result, end unsound"}
	if !slices.Equal(again, want) {
		t.Errorf("at first %q, then %q, want %q", said[:8], again, want)
	}
}

// TestLevelsInterrupted: what an interrupted run had decided counts, and the rest is to be made.
func TestLevelsInterrupted(t *testing.T) {
	j := job{of: levels.Result{Lock: "none"}, run: "crowd", dir: t.TempDir(), flags: strings.Fields("--locks none --repeat 13")}
	made := strings.Fields("run --locks none --repeat 20")
	for _, r := range []result.Run{{Interrupted: true, Args: made}, {Unfinished: true, Args: made}} {
		leave(t, filepath.Join(j.dir, result.FileName), result.File{Run: r, Rows: []result.Row{row(1, result.OK, result.AsExpected)}})
		if rows := j.result().Rows; len(rows) != 2 || levels.Tells(&rows[0]) || !levels.Tells(&rows[1]) || j.undecided() == "" {
			t.Errorf("%+v: %+v, %q", r, rows, j.undecided())
		}
		if err := j.check(true); err != nil {
			t.Errorf("where fewer are lacking now: %v", err)
		}
	}
}

// meanwhile acts whenever something is printed.
type meanwhile func()

func (m meanwhile) Write(text []byte) (int, error) {
	m()
	return len(text), nil
}

// TestLevelsAddToTheNewestPage: a row that was published since the start stays.
func TestLevelsAddToTheNewestPage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, result.FileName)
	testfile.Write(t, filepath.Join(dir, "README.md"), levelsBegin+levelsEnd)
	testfile.Write(t, path, `{"rows":[{"lock":"none"}]}`)
	another := meanwhile(func() { testfile.Write(t, path, `{"rows":[{"lock":"none"},{"lock":"redis"}]}`) })
	t.Setenv("PATH", "") // that there is no row of kazoo is said before a run is made
	f := levelsFlags{out: filepath.Join(dir, "runs"), publish: dir, only: levels.Letters(), add: true, tries: 1}
	must.Do(t, f.run(t.Context(), []string{"none", "kazoo"}, io.Discard, another))
	var p levels.Page
	must.Do(t, strictjson.Decode(testfile.Read(t, path), &p))
	if len(p.Rows) != 2 {
		t.Errorf("%d rows, want those of none and redis", len(p.Rows))
	}
}

// TestLevelsAdd: a page has the tries of two directories, each once, and the first history of what they show.
func TestLevelsAdd(t *testing.T) {
	dir := t.TempDir()
	page, path := filepath.Join(dir, "published"), filepath.Join(dir, "published", result.FileName)
	testfile.Write(t, filepath.Join(page, "README.md"), levelsBegin+levelsEnd)
	testfile.Write(t, filepath.Join(page, "histories", "none.gone.jsonl.gz"), "")
	run := levels.Runs()[0]
	args := run.Flags("none", 0, 3) // as it is a control
	read := func() (shown int, histories string) {
		var p levels.Page
		must.Do(t, strictjson.Decode(testfile.Read(t, path), &p))
		files, err := filepath.Glob(filepath.Join(page, "histories", "*"))
		must.Do(t, err)
		for _, file := range files {
			histories += filepath.Base(file) + " "
		}
		c := p.Rows[0].Cells[0]
		return c.Shown, histories + c.History
	}
	for i, c := range []struct {
		seed  uint64
		flags string
		shown int
		kept  string
	}{{0xb, "", 1, "b"}, {0xa, "", 1, "a"}, {0xb, "--add", 2, "a"}, {0xb, "--add", 2, "a"}} {
		out := filepath.Join(dir, fmt.Sprint(i))
		f := result.File{Run: result.Run{Args: args}, Rows: []result.Row{row(c.seed, result.Failed, result.AsExpected)}}
		leave(t, filepath.Join(out, "none", run.Name, result.FileName), f)
		testfile.Write(t, filepath.Join(out, "none", run.Name, "one.jsonl"), "{}")
		line := strings.Fields("levels none --tries 1 --jobs 0 --out " + out + " --publish " + page + " " + c.flags)
		if code, said := call(t, line...); code != exitOK {
			t.Fatal(said)
		}
		shown, histories := read()
		kept := "none.crowd.0000000" + c.kept + ".jsonl.gz"
		if shown != c.shown || histories != kept+" histories/"+kept {
			t.Errorf("%v: shown %d times, histories %s", line, shown, histories)
		}
	}
	// levels prints the page, and leaves it as it is, where it has made no run.
	before := testfile.Read(t, path)
	line := strings.Fields("levels none --jobs 0 --add --out " + filepath.Join(dir, "empty") + " --publish " + page)
	code, said := call(t, line...)
	if diff := cmp.Diff(string(before), string(testfile.Read(t, path))); diff != "" {
		t.Errorf("%v changed the page:\n%s", line, diff)
	}
	if code != exitOK || !strings.Contains(said, "none  ✗  ") || !strings.Contains(said, "none A  locklab run --locks none") {
		t.Errorf("exit code %d: %s", code, said)
	}
	for file, want := range map[string]string{"README.md": "| none | [✗](<histories/", "levels.svg": ">two at once, calm</text>"} {
		if text := string(testfile.Read(t, filepath.Join(page, file))); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", file, want, text)
		}
	}
	for text, want := range map[string]string{
		"null": "no rows",
		`{"rows":[{"lock":"redis","cells":[{"letter":"A"}]}]}`: "--add keeps it",
		`{"rows":[{"lock":"none","cells":[{"letter":"Z"}]}]}`:  "cell 1 of none",
	} {
		testfile.Write(t, path, text)
		if code, said := call(t, "levels", "none", "--jobs", "0", "--publish", page); code != exitCannotRun || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d: %s", text, code, said)
		}
	}
	for flags, want := range map[string]string{
		"--add": "--publish", "--only AZ": "letters of columns", "--only A --publish " + page: "want --add",
	} {
		line := append([]string{"levels", "none", "--jobs", "0"}, strings.Fields(flags)...)
		if code, said := call(t, line...); code != exitCannotRun || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d: %s", flags, code, said)
		}
	}
}
