package main

import (
	"regexp"
	"strings"
	"testing"
)

// simulate runs locklab sim in this process.
func simulate(t *testing.T, args string) (code int, stdout, stderr string) {
	t.Helper()
	return callWith(t.Context(), append([]string{"sim"}, strings.Fields(args)...)...)
}

func TestSimExitCodes(t *testing.T) {
	for _, c := range []struct {
		code int
		args string
	}{
		{exitOK, "multiphase --seeds 20"},
		{exitOK, "lamport --seeds 20 --faults partition,crash,pause,slow,drift --give-up 20ms"},
		{exitOK, "multiphase:quorum --seeds 20 --faults partition --peers 5"},
		{exitViolated, "multiphase --seeds 20 --faults partition"},
		{exitViolated, "multiphase:rule=literal --seeds 200"},
		{exitCannotRun, "redlock"},
		{exitCannotRun, "zookeper"},
		{exitCannotRun, "multiphase:rule=x"},
		{exitCannotRun, "multiphase --faults flood"},
		{exitCannotRun, "multiphase --peers 0"},
		{exitCannotRun, "multiphase --zones 4"},
		{exitCannotRun, "multiphase --trace --json"},
		{exitCannotRun, ""},
	} {
		code, stdout, stderr := simulate(t, c.args)
		if code != c.code {
			t.Errorf("sim %s: exit code %d, want %d\n%s\n%s", c.args, code, c.code, stdout, stderr)
		}
		if c.code == exitCannotRun && stderr == "" {
			t.Errorf("sim %s: no word of what is wrong", c.args)
		}
	}
}

func TestSimPrintsTheSameAgain(t *testing.T) {
	for _, args := range []string{
		"multiphase --seeds 30 --faults partition,crash,pause",
		"multiphase:quorum --seed 5 --faults partition,crash,pause,slow,drift --trace --duration 2s",
	} {
		code, first, _ := simulate(t, args)
		again, second, _ := simulate(t, args)
		if first != second || code != again || first == "" {
			t.Errorf("sim %s: two outputs (%d and %d bytes), exit codes %d and %d", args, len(first), len(second), code, again)
		}
	}
}

// TestSimDrawsTheHold: under faults every seed draws how long clients hold, so a finding of
// a long hold shows again with the seed alone.
func TestSimDrawsTheHold(t *testing.T) {
	code, stdout, _ := simulate(t, "multiphase --seeds 50 --faults pause")
	found := regexp.MustCompile(`under pause +\d+ +\d+ +(\d+) +3s +(overlap.*)`).FindStringSubmatch(stdout)
	if code != exitViolated || found == nil {
		t.Fatalf("exit code %d, no overlap of long holds in\n%s", code, stdout)
	}
	if _, again, _ := simulate(t, "multiphase --seeds 1 --faults pause --seed "+found[1]); !strings.Contains(again, found[2]) {
		t.Errorf("no %q in\n%s", found[2], again)
	}
}

// TestHarmlessIsWhatWasFound: only what is in the table is explained.
func TestHarmlessIsWhatWasFound(t *testing.T) {
	for args, fenced := range map[string]bool{
		"multiphase:quorum --seeds 300 --faults partition,crash,pause,slow": true, "multiphase --seeds 2": false,
	} {
		_, out, _ := simulate(t, args)
		if !strings.Contains(out, "nothing was violated in ") || strings.Contains(out, "earlier holder of each fenced overlap") != fenced {
			t.Errorf("sim %s: want fenced overlaps explained %v:\n%s", args, fenced, out)
		}
	}
}
