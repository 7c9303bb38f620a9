package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/failon"
	"locklab/internal/testfile"
	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
	"locklab/workloads/check"
	"locklab/workloads/history"
)

// call runs the program in this process and returns its exit code and what it says.
func call(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	code, stdout, stderr := callWith(t.Context(), args...)
	return code, stdout + stderr
}

// callWith is call with the two outputs apart; the error is at the end of the second.
func callWith(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	root := newRoot()
	var out, said bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&said)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		code = exitCannotRun
		said.WriteString(err.Error())
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		code = exit.code
	}
	return code, out.String(), said.String()
}

// TestUnknownLockInExpect: whatever a scenario expects of a lock that does not exist is
// expected of nobody, so it is refused before anything is started.
func TestUnknownLockInExpect(t *testing.T) {
	for lock, want := range map[string]string{
		"redlok":           `mine.yaml:5: expect: unknown lock "redlok" (known: none,`,
		"redlock:ttl=soon": "mine.yaml:5: expect: ",
	} {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		text := "name: mine\ntimeline: []\nexpect:\n  none: {safety: unsafe}\n  " + lock + ": {safety: safe}\n"
		testfile.Write(t, file, text)
		out := filepath.Join(t.TempDir(), "out")
		code, said := call(t, "run", "--locks", "redlock", "--scenarios", file, "--out", out)
		if code != exitCannotRun || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d: %s", lock, code, said)
		}
		if lock == "redlok" && !strings.Contains(said, "did you mean redlock?") {
			t.Errorf("the lock that was meant is not named: %s", said)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: something was started already", lock)
		}
	}
}

// mutexHistory is a run of 2 s in which m1 and m2 take turns, or hold together; the
// load was as promised.
func mutexHistory(t *testing.T, together bool, expect *history.Expect) string {
	t.Helper()
	const ms = int64(1e6)
	path := filepath.Join(t.TempDir(), "history.jsonl")
	w, err := history.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Record(history.Event{Kind: history.KindRun, AtNS: 1, Run: &history.Run{
		Schema: history.Schema, Lock: "none", Scenario: "mine", Workload: "mutex", DurationNS: 2000 * ms, Expect: expect,
		NodeHosts: map[string]string{"m1": "h1", "m2": "h2"}, HostZones: map[string]string{"h1": "a", "h2": "b"},
	}})
	for _, node := range []string{"m1", "m2"} {
		w.Record(history.Event{Kind: history.KindNode, Node: node, State: history.NodeStarted, AtNS: 1})
		w.Record(history.Event{Kind: history.KindNode, Node: node, State: history.NodeStopped, AtNS: 2200 * ms})
	}
	w.Record(history.Event{Kind: history.KindMachine, FromNS: 1, AtNS: 2200 * ms, Machine: &history.Machine{CPUs: 2}})
	for state, at := range map[string]int64{"warmup": 1, "measure": 2, "drain": 2100 * ms, "end": 2100 * ms} {
		w.Record(history.Event{Kind: history.KindPhase, State: state, AtNS: at})
	}
	for at := 10 * ms; at < 2000*ms; at += 20 * ms {
		for i, node := range []string{"m1", "m2"} {
			from := at + int64(i)*10*ms
			if together {
				from = at
			}
			hold := fmt.Sprint(node, "/", at)
			w.Record(history.Event{Kind: history.KindAcquire, Node: node, Client: node, Hold: hold, Resource: "r", FromNS: from, SentNS: from, AtNS: from + ms, Outcome: "ok"})
			w.Record(history.Event{Kind: history.KindRelease, Node: node, Hold: hold, Resource: "r", FromNS: from + 5*ms, AtNS: from + 6*ms, Outcome: "ok"})
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCheckJudgesAsTheReport: by the expectation that the history carries.
func TestCheckJudgesAsTheReport(t *testing.T) {
	live := []string{"live"}
	for _, c := range []struct {
		name     string
		together bool
		expect   *history.Expect
		code     int
		says     string
	}{
		{"a control that fires", true, &history.Expect{Safety: "unsafe", Liveness: live}, exitOK, "expected: 100 overlapping holds, and it stayed live."},
		{"a control that is silent", false, &history.Expect{Safety: "unsafe", Liveness: live}, exitInconclusive, "control-silent: "},
		{"a lock that fails", true, &history.Expect{Safety: "safe", Liveness: live}, exitViolated, "violated: "},
		{"a lock that holds", false, &history.Expect{Safety: "safe", Liveness: live}, exitOK, "expected: No violation, and it stayed live."},
		{"a lock that is live, but should be down", false, &history.Expect{Safety: "safe", Liveness: []string{"down"}}, exitViolated, "Expected down"},
		{"nothing expected", true, &history.Expect{}, exitOK, "not-judged: "},
		{"an older file", true, nil, exitViolated, "Expected safe"},
	} {
		if code, said := call(t, "check", mutexHistory(t, c.together, c.expect)); code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s: exit code %d, want %d, with %q:\n%s", c.name, code, c.code, c.says, said)
		}
	}
}

// TestThresholdIsAVerdict: --fail-on shows in the verdict, in its reason and on the
// console, not only in the exit code.
func TestThresholdIsAVerdict(t *testing.T) {
	threshold, err := failon.Parse("duplicates>0")
	if err != nil {
		t.Fatal(err)
	}
	row := func(lock string, raced int64) result.Row {
		return result.Row{
			Lock: lock, Scenario: "baseline", Workload: "matchmaking", Repeats: 1, Availability: 1,
			Verdict:    result.Verdict{Status: result.StatusExpected, Safety: "unsafe", Liveness: "live", Why: "As expected."},
			Duplicates: &result.Duplicates{Total: raced, Raced: raced},
		}
	}
	file := result.File{Schema: result.Schema, Results: []result.Row{row("none", 3), row("raft", 0)}}
	applyThresholds(file.Results, []failon.Threshold{threshold})
	crossed, other := file.Results[0].Verdict, file.Results[1].Verdict
	if crossed.Status != result.StatusViolated || len(crossed.FailedOns) != 1 || crossed.Why != "Crossed --fail-on duplicates>0. Without that it would be expected: As expected." {
		t.Errorf("%+v", crossed)
	}
	if other.Status != result.StatusExpected || exitCode(file) != exitViolated {
		t.Errorf("%+v, exit code %d", other, exitCode(file))
	}
	var table bytes.Buffer
	if err := reports.Summary(&table, lang.English(), file, 300, false); err != nil {
		t.Fatal(err)
	}
	said := table.String()
	if !strings.Contains(said, "not as expected") || !strings.Contains(said, "crossed --fail-on duplicates>0") {
		t.Errorf("the console does not say it:\n%s", said)
	}
}

// TestExplain tells who believed what around a violation, and how many more there are.
func TestExplain(t *testing.T) {
	const path = "../../reports/sample/histories/multiphase/zone-partition.matchmaking.1.jsonl.gz"
	code, said := call(t, "check", "--explain", "3", path)
	for _, want := range []string{"fault: partition between zone:a and others in force since 2,", "more of ", "around 3, ", "believes that it holds", "looks at the workers and orders"} {
		if code != exitOK || !strings.Contains(said, want) {
			t.Errorf("exit code %d, it does not say %q:\n%s", code, want, said)
		}
	}
	for number, want := range map[string]string{"1000": "the list ends at", "-1": "from 1", "0": "from 1"} {
		if code, said := call(t, "check", "--explain", number, path); code != exitCannotRun || !strings.Contains(said, want) {
			t.Errorf("--explain %s: exit code %d, %s does not say %q", number, code, said, want)
		}
	}
	if code, said := call(t, "check", "--lang", "ko", path); code != exitOK || !strings.Contains(said, "zone:a와 나머지 사이의 partition") || strings.Contains(said, "예상대로: 예상대로") {
		t.Errorf("in Korean it says\n%s", said)
	}
}

// TestExplainOutages tells what the first failed request and the longest outage were.
func TestExplainOutages(t *testing.T) {
	const refused = "../../reports/sample/histories/redlock/zone-partition.matchmaking.1.jsonl.gz"
	_, list := call(t, "check", refused)
	for what, wants := range map[string][]string{
		"slowest request": {"slowest request at ", "the slowest request that was served asked master-c", "(p99)", "wait"},
		"failed request":  {"failed request at ", "asks master-c", "does not get it", "partition between zone:a and others"},
		"outage":          {"outage at ", "nobody in zone c got the lock for 2.", "; then master-c got ", "does not get it", "partition between zone:a and others"},
	} {
		found := regexp.MustCompile(`(?m)^ *(\d+) ` + what).FindStringSubmatch(list)
		if found == nil {
			t.Fatalf("no %s in\n%s", what, list)
		}
		code, said := call(t, "check", "--explain", found[1], refused)
		if what == "outage" && !regexp.MustCompile(`\+2,?\d+\.\d +\S+ +master-c +hold`).MatchString(said) {
			t.Errorf("the grant that ended the outage is no step of\n%s", said)
		}
		_, told, _ := strings.Cut(said, "around "+found[1]+", ")
		for _, want := range wants {
			if code != exitOK || !strings.Contains(told, want) {
				t.Errorf("exit code %d, --explain %s does not say %q:\n%s", code, found[1], want, said)
			}
		}
	}
}

// TestSampleIsThePrograms: the pages of the sample report are what the program makes of its
// records now.
func TestSampleIsThePrograms(t *testing.T) {
	const sample = "../../reports/sample"
	dir := filepath.Join(t.TempDir(), "sample")
	if err := os.CopyFS(dir, os.DirFS(sample)); err != nil {
		t.Fatal(err)
	}
	if code, said := call(t, "report", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	for _, name := range []string{"index.html", "index.ko.html", "evidence.html", "evidence.ko.html", "report.md", "report.ko.md", "results.csv"} {
		if !bytes.Equal(testfile.Read(t, filepath.Join(sample, name)), testfile.Read(t, filepath.Join(dir, name))) {
			t.Errorf("reports/sample/%s is of another program: want it made again by `locklab report reports/sample`", name)
		}
	}
}

// TestCheckWantsAHistory, and says so of another file.
func TestCheckWantsAHistory(t *testing.T) {
	if code, said := call(t, "check", "../../reports/sample/result.json"); code != exitCannotRun || !strings.Contains(said, "want a history that locklab wrote") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// TestCheckSaysWhatItCounts: errors by kind, and overlaps in one unit.
func TestCheckSaysWhatItCounts(t *testing.T) {
	said := func(history string) string {
		_, said := call(t, "check", "../../reports/sample/histories/"+history+".matchmaking.1.jsonl.gz")
		return said
	}
	unknown := regexp.MustCompile(`errors .*unknown \d+ \(of the lock: it is not known whether it was acquired\)`)
	if !slices.ContainsFunc([]string{"raft/zone-failure", "raft/zone-partition", "redlock/zone-partition", "redlock/zone-failure"}, func(history string) bool { return unknown.MatchString(said(history)) }) {
		t.Error("it says of no history which errors there were: of a lock that lost its majority something is unknown")
	}
	text := said("multiphase/zone-partition")
	all := regexp.MustCompile(`, (\d+) overlaps,`).FindStringSubmatch(text)
	more := regexp.MustCompile(`and (\d+) more of the overlaps, (\d+) in all`).FindStringSubmatch(text)
	if all == nil || more == nil || all[1] != more[2] {
		t.Fatalf("it says %q and %q:\n%s", all, more, text)
	}
	shown := len(regexp.MustCompile(`(?m)^ *\d+ overlap `).FindAllString(text, -1))
	if n, _ := strconv.Atoi(more[1]); strconv.Itoa(n+shown) != all[1] {
		t.Errorf("%d are shown, %d more, %s in all:\n%s", shown, n, all[1], text)
	}
}

// TestAReportIsNotWrittenOver: neither by a comparison nor by that of another run.
func TestAReportIsNotWrittenOver(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if err := os.WriteFile(filepath.Join(dir, "result.json"), testfile.Read(t, "../../reports/sample/result.json"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"report", a, b, "--out", a}, {"report", a, b, "--out", b}, {"report", a, "--out", b}} {
		if code, said := call(t, args...); code != exitCannotRun || !strings.Contains(said, "would be written over") {
			t.Errorf("%v: exit code %d: %s", args, code, said)
		}
	}
	if code, said := call(t, "report", a, "--out", a); code != exitOK {
		t.Errorf("into its own directory: exit code %d: %s", code, said)
	}
}

// TestCheckSaysHowManyMoreThereAre of each kind of which not all are listed, whether or not the lock
// should have prevented them.
func TestCheckSaysHowManyMoreThereAre(t *testing.T) {
	f := &check.Findings{Overlaps: 2, Duplicates: check.Duplicates{Raced: 3}, Counts: map[string]int64{"stale_writes": 1, "lost_updates": 34}}
	got := unlisted(lang.English(), f, map[string]int64{"overlap": 2, "raced": 1, "stale write": 1, "lost update": 5})
	want := []string{"and 2 more of the raced duplicates, 3 in all", "and 29 more of the lost updates, 34 in all"}
	if !slices.Equal(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}
