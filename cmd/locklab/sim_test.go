package main

import (
	"cmp"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"locklab/chaos/scenario"
	"locklab/internal/testfile"
	"locklab/verify/sim"
)

// simulate runs locklab sim in this process.
func simulate(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return callWith(t.Context(), append([]string{"sim"}, args...)...)
}

func TestSimExitCodes(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "found.yaml")
	for _, c := range []struct {
		code int
		args string
	}{
		{exitOK, "multiphase --seeds 20"},
		{exitOK, "lamport --seeds 20 --faults partition,crash,pause,slow,drift --give-up 20ms"},
		{exitOK, "multiphase:quorum --seeds 20 --faults partition --peers 5"},
		{exitViolated, "multiphase --seeds 20 --faults partition --no-shrink"},
		{exitViolated, "multiphase:rule=literal --seeds 200 --out " + out},
		{exitInconclusive, "multiphase --seeds 2 --max-events 1000"},
		{exitCannotRun, "redlock"},
		{exitCannotRun, "zookeper"},
		{exitCannotRun, "multiphase:rule=x"},
		{exitCannotRun, "multiphase --faults flood"},
		{exitCannotRun, "multiphase --peers 0"},
		{exitCannotRun, "multiphase --sweep 2..10"},
		{exitCannotRun, "multiphase --sweep peers=2..2000"},
		{exitCannotRun, "multiphase --sweep peers=2..3 --against redlock"},
		{exitCannotRun, "multiphase --against lamport"},
		{exitCannotRun, "multiphase --seeds 20 --faults partition --out " + filepath.Join(dir, "missing", "x.yaml")},
		{exitCannotRun, ""},
	} {
		code, stdout, stderr := simulate(t, strings.Fields(c.args)...)
		if code != c.code {
			t.Errorf("sim %s: exit code %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
		if c.code == exitCannotRun && stderr == "" {
			t.Errorf("sim %s: no word of what is wrong", c.args)
		}
	}
	if _, err := scenario.Load(out, ""); err != nil {
		t.Error(err)
	}
}

// TestSimHolderIsNotForgotten: a holder that had lent its own vote used to forget that it
// held when this vote came back, and its client was told nothing.
func TestSimHolderIsNotForgotten(t *testing.T) {
	code, stdout, stderr := simulate(t, strings.Fields("multiphase:quorum --peers 5 --seed 62235 --seeds 1 "+
		"--faults crash,partition --give-up 30ms --hold 4s --think 1ms --jitter 3 --no-shrink")...)
	if code != exitOK || strings.Contains(stdout, "overlap") {
		t.Errorf("exit code %d\n%s\n%s", code, stdout, stderr)
	}
}

func TestSimPrintsTheSameAgain(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range []string{
		"multiphase --seeds 30 --faults partition,crash,pause",
		"multiphase --seeds 30 --faults partition,crash,pause --json",
		"multiphase:quorum --seed 5 --faults partition,crash,pause,slow,drift --trace --duration 2s",
		"multiphase --fairness --seeds 2 --duration 1s --peers 3",
	} {
		code, first, _ := simulate(t, strings.Fields(args)...)
		again, second, _ := simulate(t, strings.Fields(args)...)
		if first != second || code != again || first == "" {
			t.Errorf("sim %s: two outputs (%d and %d bytes), exit codes %d and %d", args, len(first), len(second), code, again)
		}
	}
}

// TestSimDrawsTheHold: under faults every seed draws how long clients hold, so a finding of
// a long hold shows again with the seed alone.
func TestSimDrawsTheHold(t *testing.T) {
	t.Chdir(t.TempDir())
	code, stdout, _ := simulate(t, strings.Fields("multiphase --seeds 50 --faults pause")...)
	found := regexp.MustCompile(`under pause +\d+ +\d+ +(\d+) +3s +(overlap.*)`).FindStringSubmatch(stdout)
	if code != exitViolated || found == nil {
		t.Fatalf("exit code %d, no overlap of long holds in\n%s", code, stdout)
	}
	_, again, _ := simulate(t, strings.Fields("multiphase --seeds 1 --no-shrink --faults pause --seed "+found[1])...)
	if !strings.Contains(again, found[2]) {
		t.Errorf("no %q in\n%s", found[2], again)
	}
	files, err := filepath.Glob("reports/sim/sim-multiphase-overlap-*.yaml")
	here, _ := filepath.Glob("*.yaml")
	if err != nil || len(files) != 1 || len(here) != 0 {
		t.Errorf("scenarios %v in reports/sim, %v here, %v", files, here, err)
	}
}

func TestSimJSON(t *testing.T) {
	t.Chdir(t.TempDir())
	code, out, _ := simulate(t, "multiphase", "--seeds", "50", "--faults", "partition", "--json")
	var got struct {
		Schema   string
		Violated bool
		Findings []struct{ Name string }
		Totals   struct{ Ranks []struct{ Grants uint64 } }
		Minimal  struct {
			Peers    int
			Faults   []sim.Fault
			Trace    []string
			Scenario string
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	m := got.Minimal
	if code != exitViolated || got.Schema != "locklab/sim/v2" || !got.Violated || len(got.Findings) == 0 || len(got.Totals.Ranks) != 3 ||
		m.Peers != 2 || len(m.Faults) != 1 || len(m.Trace) == 0 {
		t.Errorf("exit code %d: %+v", code, got)
	}
	if _, err := scenario.Load(m.Scenario, ""); err != nil {
		t.Error(err)
	}
}

func TestSimSweep(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sweep")
	code, out, stderr := simulate(t, "multiphase", "--sweep", "peers=2..12", "--against", "ricart-agrawala,multiphase:fair=off", "--out", dir)
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	page := string(testfile.Read(t, filepath.Join(dir, "index.html")))
	if !regexp.MustCompile(`ricart-agrawala +10 +18\.00 +18\.00 .*\n`).MatchString(out) {
		t.Errorf("ricart-agrawala does not take 2(N-1) messages:\n%s", out)
	}
	if n := strings.Count(page, "<svg "); n != 15 {
		t.Errorf("the page has %d plots", n)
	}
}

// TestSimFairness: the bound is broken without the debt rule, runs that were ended acquit no lock, and what
// was asked about is answered.
func TestSimFairness(t *testing.T) {
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"multiphase --fairness --peers 5 --seeds 10":         {exitOK, `multiphase:fair=off +\d+ +0 +0\.\d+ +\d+ +NO`},
		"multiphase --fairness --peers 5 --seeds 9":          {exitOK, `\nmultiphase +\d+ +0 +[01]\.\d+ +\d+ +yes `},
		"2pc --fairness --seeds 5":                           {exitOK, `\n2pc +\d+ +0 +[01]\.\d+ +\d+ +NO`},
		"multiphase --fairness --max-events 200 --seeds 5":   {exitInconclusive, `yes, as far as it went`},
		"multiphase:cohort --fairness --clients 8 --seeds 5": {exitOK, `multiphase:cohort +\d+ +0 +[01]\.\d+ +\d+ +NO`},
	} {
		code, out, stderr := simulate(t, strings.Fields(args)...)
		if code != want.code || !regexp.MustCompile(want.says).MatchString(out) {
			t.Errorf("sim %s: exit code %d: no %q in\n%s%s", args, code, want.says, out, stderr)
		}
	}
}

// TestFlagsAreHeededOrRefused: a flag that changes nothing of what is asked for is an error.
func TestFlagsAreHeededOrRefused(t *testing.T) {
	for _, args := range []string{
		"multiphase --sweep peers=2..3 --faults crash", "multiphase --sweep peers=2..3 --zones 2", "multiphase --sweep peers=2..3 --max-events 10",
		"multiphase --sweep peers=2..3 --fairness", "multiphase --sweep peers=2..3 --trace", "multiphase --sweep peers=2..3 --hold 1s",
		"multiphase --fairness --faults crash", "multiphase --fairness --give-up 1s", "multiphase --fairness --trace",
		"multiphase --trace --json",
	} {
		code, _, stderr := simulate(t, strings.Fields(args)...)
		if code != exitCannotRun || !strings.Contains(stderr, "with --") {
			t.Errorf("sim %s: exit code %d: %s", args, code, stderr)
		}
	}
	code, _, stderr := simulate(t, strings.Fields("multiphase --trace --max-events 60")...)
	if code != exitInconclusive || !strings.Contains(stderr, "--max-events ended 1 run before a verdict") {
		t.Errorf("a trace that was ended: exit code %d: %s", code, stderr)
	}
}

// TestReplays checks what scenarios say of each kind of finding.
func TestReplays(t *testing.T) {
	const s = time.Second
	cut := sim.Fault{Kind: sim.Partition, From: s, Until: 2 * s, A: []int{0}, B: []int{1}}
	oneWay := sim.Fault{Kind: sim.Partition, From: s, Until: 6 * s, A: []int{0, 1}, B: []int{2}, OneWay: true}
	for name, c := range map[string]struct {
		peers   int
		faults  []sim.Fault
		load    sim.Load
		kind    sim.FindingKind
		want    []string // in the file
		command string   // in the command
		refused string
	}{
		"cut": {
			peers: 2, faults: []sim.Fault{cut},
			want:    []string{`at: 2s, for: 4s, fault: partition, mode: hold, between: ["node:master-a", "node:master-c"]`, `- {when: {lock: "multiphase:fair=off"}, safety: unsafe}`},
			command: "--topology seoul-2az --workload matchmaking --duration 12s",
		},
		"one way": {
			peers: 3, faults: []sim.Fault{oneWay},
			want: []string{
				`at: 2s, for: 5s, fault: partition, mode: hold, from: "node:master-a", to: "node:master-c"`,
				`at: 2s, for: 5s, fault: partition, mode: hold, from: "node:master-b", to: "node:master-c"`,
			},
			command: "--topology seoul-3az",
		},
		"stopped holder": {
			peers: 2, faults: []sim.Fault{{Kind: sim.Pause, From: s, Until: 2 * s, A: []int{1}}},
			want: []string{"fault: pause, target: holder"}, command: "--workload mutex",
		},
		"crash": {
			peers: 2, faults: []sim.Fault{{Kind: sim.Crash, From: s, Until: 2 * s, A: []int{0}}, cut},
			want: []string{`at: 2s, for: 4s, fault: kill, target: "node:master-a"`}, command: "--duration 12s",
		},
		"nothing broken": {
			peers: 3, want: []string{"fault: jitter, between: [zones]"}, command: "--topology seoul-3az --workload mutex --duration 12s --clients 1 --hold 20ms",
		},
		"slow": {
			peers: 3, faults: []sim.Fault{{Kind: sim.Slow, From: s, Until: 2 * s, A: []int{0}, B: []int{1}, Delay: 30 * time.Millisecond}},
			want: []string{`at: 2s, for: 1s, fault: latency, delay: 30ms, between: ["node:master-a", "node:master-b"]`}, command: "--hold 20ms",
		},
		"too many":   {peers: 4, faults: []sim.Fault{cut}, refused: "4 peers"},
		"drift":      {peers: 2, faults: []sim.Fault{{Kind: sim.Drift, Until: s, A: []int{0}, Rate: 2}}, refused: "clocks"},
		"gives up":   {peers: 3, load: sim.Load{GiveUp: s}, refused: "give up"},
		"no overlap": {peers: 3, kind: sim.Stuck, refused: "stuck"},
		"much too long": {peers: 2, faults: []sim.Fault{
			{Kind: sim.Pause, From: s, Until: s + 10*time.Millisecond, A: []int{0}}, {Kind: sim.Pause, From: 2 * s, Until: 3 * s, A: []int{0}},
		}, refused: "would take"},
	} {
		found := sim.Finding{Kind: cmp.Or(c.kind, sim.Overlap), A: 1, B: 0}
		m := simMinimal{Peers: c.peers, Faults: c.faults, Finding: found}
		text, command, err := m.scenario("multiphase:fair=off", c.load, "found", "f.yaml")
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: want an error with %q, got %v", name, c.refused, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := scenario.Parse("f.yaml", text, ""); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, text)
			}
		}
		if !strings.Contains(command, c.command) || !strings.Contains(string(text), command) {
			t.Errorf("%s: command %s, want %s", name, command, c.command)
		}
	}
}

// TestHarmlessIsWhatWasFound: only what is in the table is explained, and runs that were ended
// do not pass for runs in which nothing was violated.
func TestHarmlessIsWhatWasFound(t *testing.T) {
	const fenced, forgot = "earlier holder of each fenced overlap", "a majority had lost its memory"
	for args, want := range map[string]struct{ told, untold string }{
		"multiphase:quorum --seeds 300 --faults partition,crash,pause,slow":     {fenced, forgot},
		"multiphase:quorum,store=memory --seeds 300 --faults crash --think 1ms": {forgot, fenced},
		"multiphase --seeds 2 --max-events 1000":                                {"of which --max-events ended 2 before a verdict", forgot},
		"multiphase --seeds 2":                                                  {"nothing was violated in 2 runs", "--max-events"},
	} {
		_, out, _ := simulate(t, strings.Fields(args)...)
		if !strings.Contains(out, want.told) || strings.Contains(out, want.untold) {
			t.Errorf("sim %s: want %q and not %q:\n%s", args, want.told, want.untold, out)
		}
	}
}
