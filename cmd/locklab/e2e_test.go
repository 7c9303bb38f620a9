//go:build e2e

package main_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/reports/result"
)

// binary is locklab, built once for all tests of this file.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "locklab-e2e-*")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "locklab-under-test")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// outcome is how a call of the program ended.
type outcome struct {
	code           int
	stdout, stderr string
}

func run(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = t.TempDir()
	if env != nil {
		cmd.Env = env
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// mustRun fails the test if the exit code is another one.
func mustRun(t *testing.T, code int, args ...string) outcome {
	t.Helper()
	out := run(t, nil, args...)
	if out.code != code {
		t.Fatalf("locklab %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), out.code, code, out.stdout, out.stderr)
	}
	return out
}

// compare runs a comparison until it is conclusive, at most three times, and
// returns its directory. That the machine was too busy to keep the load is no
// finding about the program, and it says so by its exit code.
func compare(t *testing.T, env []string, code int, args ...string) (outcome, string) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		dir := filepath.Join(t.TempDir(), "out")
		out := run(t, env, append(append([]string{"run"}, args...), "--out", dir)...)
		switch {
		case out.code == code:
			return out, dir
		case out.code == 4 && attempt < 3:
			t.Logf("inconclusive, again:\n%s", out.stdout)
		default:
			t.Fatalf("locklab run %s: exit code %d, want %d\n%s\n%s", strings.Join(args, " "), out.code, code, out.stdout, out.stderr)
		}
	}
}

func read(t *testing.T, dir string) result.File {
	t.Helper()
	file, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func row(t *testing.T, file result.File, lock, scenario string) result.Row {
	t.Helper()
	for _, r := range file.Results {
		if r.Lock == lock && r.Scenario == scenario {
			return r
		}
	}
	t.Fatalf("there is no row for %s under %s", lock, scenario)
	return result.Row{}
}

// processes lists what runs of the binary under test.
func processes(t *testing.T) []string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range entries {
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			continue // it has ended
		}
		line := strings.ReplaceAll(string(text), "\x00", " ")
		// Servers of ours have a data directory below the controller's, or our name.
		if strings.Contains(line, binary) || strings.Contains(line, os.TempDir()+"/locklab-") {
			found = append(found, filepath.Base(filepath.Dir(path))+" "+line)
		}
	}
	return found
}

// nothingLeft waits until no process of the program runs.
func nothingLeft(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		left := processes(t)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes are left:\n%s", strings.Join(left, "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestE2EHeadline is the comparison that a user starts without flags.
func TestE2EHeadline(t *testing.T) {
	out, dir := compare(t, nil, 0, "--seed", "1")
	file := read(t, dir)
	for _, scenario := range []string{"baseline", "zone-latency", "zone-partition", "zone-failure"} {
		for _, lock := range []string{"none", "local"} {
			if r := row(t, file, lock, scenario); r.Duplicates.Raced+r.Duplicates.Overlooked == 0 {
				t.Errorf("%s under %s is a control and made no duplicates", lock, scenario)
			}
		}
		for _, lock := range []string{"redlock", "raft"} {
			if r := row(t, file, lock, scenario); r.Duplicates.Raced+r.Duplicates.Overlooked != 0 {
				t.Errorf("%s under %s: %d raced and %d overlooked", lock, scenario, r.Duplicates.Raced, r.Duplicates.Overlooked)
			}
		}
	}
	for scenario, unsafe := range map[string]bool{"baseline": false, "zone-latency": false, "zone-partition": true} {
		r := row(t, file, "multiphase", scenario)
		if got := r.Duplicates.Raced+r.Duplicates.Overlooked > 0; got != unsafe {
			t.Errorf("multiphase under %s: %d raced, %d overlooked; unsafe should be %v", scenario, r.Duplicates.Raced, r.Duplicates.Overlooked, unsafe)
		}
	}
	for lock, down := range map[string]bool{"redlock": true, "raft": true, "multiphase": false} {
		if r := row(t, file, lock, "zone-failure"); (r.Verdict.Liveness == "down") != down {
			t.Errorf("%s under zone-failure is %s; down should be %v", lock, r.Verdict.Liveness, down)
		}
	}
	for _, name := range []string{"index.html", "report.md", "results.csv"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s is missing or empty: %v", name, err)
		}
	}
	if !strings.Contains(out.stdout, "report: "+filepath.Join(dir, "index.html")) {
		t.Errorf("the path of the report is not printed:\n%s", out.stdout)
	}
	if file.Run.LinkCost == nil || file.Run.LinkCost.Ratio < 1 {
		t.Errorf("the cost of the links is missing: %+v", file.Run.LinkCost)
	}
	nothingLeft(t)
}

// TestE2EThreeZones: whichever zone fails, the other two go on.
func TestE2EThreeZones(t *testing.T) {
	_, dir := compare(t, nil, 0, "--topology", "seoul-3az", "--scenarios", "zone-failure", "--locks", "multiphase,redlock,raft", "--seed", "2")
	for _, r := range read(t, dir).Results {
		if r.Verdict.Liveness == "down" {
			t.Errorf("%s is down although two zones are left: %s", r.Lock, r.Verdict.Why)
		}
	}
	nothingLeft(t)
}

// TestE2EMutex: the raw workload; none is the control.
func TestE2EMutex(t *testing.T) {
	_, dir := compare(t, nil, 0, "--workload", "mutex", "--scenarios", "baseline", "--quick")
	for _, r := range read(t, dir).Results {
		control := r.Lock == "none" || r.Lock == "local"
		if (*r.Overlaps > 0) != control {
			t.Errorf("%s: %d overlaps", r.Lock, *r.Overlaps)
		}
	}
}

// TestE2EWithoutRedisServer: the stand-in works, and everybody is told.
func TestE2EWithoutRedisServer(t *testing.T) {
	bare := t.TempDir() // a PATH without redis-server
	out, dir := compare(t, append(os.Environ(), "PATH="+bare), 0, "--quick", "--locks", "none,redlock", "--scenarios", "baseline")
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"console": out.stderr, "report": string(page)} {
		if !strings.Contains(text, "stand-in") {
			t.Errorf("the %s does not say that a stand-in took the place of Redis", where)
		}
	}
}

// TestE2EInterrupted: Ctrl-C half-way gives a report of what there is.
func TestE2EInterrupted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cmd, stderr := begin(t, "run", "--locks", "none,raft", "--scenarios", "baseline", "--duration", "3s", "--out", dir)
	waitFor(t, stderr, "[2/2]", "measuring")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := exitOf(cmd); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, stderr)
	}
	file := read(t, dir)
	if !file.Run.Interrupted || row(t, file, "none", "baseline").Matches == 0 {
		t.Errorf("the report does not have what there was: %+v", file.Run)
	}
	if r := row(t, file, "raft", "baseline"); r.Verdict.Status != result.StatusInconclusive {
		t.Errorf("the interrupted run is %s: %s", r.Verdict.Status, r.Verdict.Why)
	}
	nothingLeft(t)
}

// TestE2EKilled: the controller dies without a chance to clean up. What was measured
// before is there, and can be reported.
func TestE2EKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	cmd, stderr := begin(t, "run", "--locks", "raft,redlock", "--scenarios", "baseline", "--duration", "1s", "--out", dir)
	waitFor(t, stderr, "[1/2]", "measuring")
	if file := read(t, dir); !file.Run.Unfinished || len(file.Results) != 0 {
		t.Errorf("while the first run goes on, the result is %+v", file)
	}
	waitFor(t, stderr, "[2/2]", "measuring")
	if len(processes(t)) < 5 {
		t.Fatalf("there should be masters, workers and servers: %q", processes(t))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = exitOf(cmd)
	nothingLeft(t)
	mustRun(t, 0, "report", dir)
	file := read(t, dir)
	if r := row(t, file, "raft", "baseline"); !file.Run.Unfinished || r.Matches == 0 {
		t.Errorf("the first run ended before the kill, but the result has %+v", file)
	}
	if r := row(t, file, "redlock", "baseline"); r.Verdict.Status != result.StatusInconclusive || len(r.Histories) != 1 {
		t.Errorf("the run that was killed is %+v, %q", r.Verdict, r.Histories)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "report.md")); err != nil || !strings.Contains(string(text), "The lab has not ended this run") {
		t.Errorf("the report does not say that the run has no end: %v\n%s", err, text)
	}
	if logs, _ := filepath.Glob(filepath.Join(dir, "logs", "raft", "*", "raft-*.log")); len(logs) == 0 {
		t.Error("the logs of the servers of the first run are lost")
	}
}

// TestE2EFailedStartLeavesNothing: no directory without a run in it, and no file of
// locklab's in a directory that was there before.
func TestE2EFailedStartLeavesNothing(t *testing.T) {
	fails := []string{"run", "--locks", "none", "--agents", "http://127.0.0.1:1"}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, fails...)
	cmd.Dir = home
	if text, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	if left, _ := filepath.Glob(filepath.Join(home, "reports", "runs", "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	there := t.TempDir()
	mustRun(t, 1, append(fails, "--out", there)...)
	if left, err := os.ReadDir(there); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestE2EFiveThousandMatchesPerSecond: 5,000 matches a second, most of which find a seat without a lock.
func TestE2EFiveThousandMatchesPerSecond(t *testing.T) {
	_, dir := compare(t, nil, 0, "--topology", "one-host", "--locks", "local,raft", "--scenarios", "baseline", "--rate", "5000", "--seats", "200", "--groups", "50", "--duration", "4s", "--seed", "3")
	for _, r := range read(t, dir).Results {
		if r.Availability < 0.99 || float64(*r.RoomsCreated) > 0.05*float64(r.Matches) {
			t.Errorf("%s: availability %.3f, %d rooms for %d matches", r.Lock, r.Availability, *r.RoomsCreated, r.Matches)
		}
	}
}

// TestE2EOverload: a load that the generator cannot keep is no verdict.
func TestE2EOverload(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	mustRun(t, 4, "run", "--locks", "redlock", "--scenarios", "baseline", "--rate", "200000", "--duration", "2s", "--out", dir)
	r := read(t, dir).Results[0]
	why := r.Verdict.Why // the generator runs on the machine that it fills
	if r.Verdict.Status != result.StatusInconclusive || !strings.Contains(why, "generator") && !strings.Contains(why, "saturated") {
		t.Errorf("verdict %s: %s", r.Verdict.Status, r.Verdict.Why)
	}
}

// TestE2ETerminal: bars on a terminal, which script(1) provides.
func TestE2ETerminal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	command := strings.Join([]string{binary, "run", "--quick", "--locks", "none", "--scenarios", "baseline", "--out", dir}, " ")
	cmd := exec.CommandContext(t.Context(), "script", "-qec", "stty rows 40 cols 120; exec "+command, "/dev/null")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState.ExitCode() != 4 { // what was drawn counts, not the verdict
		t.Fatalf("%v\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("\x1b[")) || !bytes.Contains(out, []byte("current")) {
		t.Errorf("no bars were drawn:\n%q", out)
	}
}

// TestE2EFailOn: a threshold turns an expected result into exit 2.
func TestE2EFailOn(t *testing.T) {
	compare(t, nil, 2, "--quick", "--locks", "none", "--scenarios", "baseline", "--fail-on", "duplicates>0")
}

// TestE2EReportAndCheck works on the files alone.
func TestE2EReportAndCheck(t *testing.T) {
	_, dir := compare(t, nil, 0, "--quick", "--locks", "none,raft", "--scenarios", "baseline")
	page := filepath.Join(dir, "index.html")
	if err := os.Remove(page); err != nil {
		t.Fatal(err)
	}
	mustRun(t, 0, "report", dir)
	if _, err := os.Stat(page); err != nil {
		t.Errorf("the report was not rebuilt: %v", err)
	}
	compared := filepath.Join(t.TempDir(), "compared")
	mustRun(t, 0, "report", dir, dir, "--out", compared)
	if _, err := os.Stat(filepath.Join(compared, "index.html")); err != nil {
		t.Errorf("the comparison was not written: %v", err)
	}
	for _, r := range read(t, dir).Results { // also of none, which had to fail
		if out := mustRun(t, 0, "check", filepath.Join(dir, r.Histories[0])); !strings.Contains(out.stdout, r.Verdict.Status+": "+r.Verdict.Why) {
			t.Errorf("the report says %s: %s, check says:\n%s", r.Verdict.Status, r.Verdict.Why, out.stdout)
		}
	}
}

// begin starts the program and collects what it says.
func begin(t *testing.T, args ...string) (*exec.Cmd, *syncBuffer) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir = t.TempDir()
	stderr := &syncBuffer{changed: make(chan struct{}, 1)}
	cmd.Stderr = stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stderr
}

func exitOf(cmd *exec.Cmd) int {
	_ = cmd.Wait() // the code is what counts
	return cmd.ProcessState.ExitCode()
}

// waitFor waits until one line has all the words.
func waitFor(t *testing.T, out *syncBuffer, words ...string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		if slices.ContainsFunc(strings.Split(out.String(), "\n"), func(line string) bool {
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
		}) {
			return
		}
		select {
		case <-out.changed:
		case <-deadline:
			t.Fatalf("no line with %s in:\n%s", strconv.Quote(strings.Join(words, " ")), out)
		}
	}
}
