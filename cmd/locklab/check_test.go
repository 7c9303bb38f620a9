package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/internal/must"
	"locklab/internal/testfile"
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
		text := "name: mine\ntimeline: []\nexpect:\n  - {when: {lock: none}, safety: unsafe}\n  - {when: {lock: \"" + lock + "\"}, safety: safe}\n"
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
	must.Do(t, err)
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
	for at := 50 * ms; at < 2000*ms; at += 100 * ms {
		for _, node := range []string{"m1", "m2"} {
			w.Record(history.Event{Kind: history.KindAcquire, Node: node, Client: "canary", Resource: "canary-" + node, FromNS: at, SentNS: at, AtNS: at + ms, Outcome: "ok"})
		}
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
	must.Do(t, w.Close())
	return path
}

// TestCheckJudgesAsTheReport: by the expectation that the history carries.
func TestCheckJudgesAsTheReport(t *testing.T) {
	live := []string{"live"}
	for name, c := range map[string]struct {
		together bool
		expect   *history.Expect
		code     int
	}{
		"a control that fires":                    {true, &history.Expect{Safety: "unsafe", Liveness: live}, exitOK},
		"a control that is silent":                {false, &history.Expect{Safety: "unsafe", Liveness: live}, exitInconclusive},
		"a lock that fails":                       {true, &history.Expect{Safety: "safe", Liveness: live}, exitViolated},
		"a lock that holds":                       {false, &history.Expect{Safety: "safe", Liveness: live}, exitOK},
		"a lock that is live, and should be down": {false, &history.Expect{Safety: "safe", Liveness: []string{"down"}}, exitViolated},
		"nothing is expected":                     {true, &history.Expect{}, exitOK},
		"it does not say what is expected":        {true, nil, exitOK},
	} {
		if code, said := call(t, "check", mutexHistory(t, c.together, c.expect)); code != c.code {
			t.Errorf("%s: exit code %d, want %d:\n%s", name, code, c.code, said)
		}
	}
}

// TestSampleIsThePrograms: the sample's summaries are what the program makes of its figures now.
func TestSampleIsThePrograms(t *testing.T) {
	const sample = "../../reports/sample"
	dir := filepath.Join(t.TempDir(), "sample")
	must.Do(t, os.CopyFS(dir, os.DirFS(sample)))
	if code, said := call(t, "report", dir); code != 0 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	for _, name := range []string{"report.md", "report.ko.md"} {
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
