package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"locklab/reports/table"
)

// TestHelpFitsTheTerminal: no line of any command's help is wider than 80 columns.
func TestHelpFitsTheTerminal(t *testing.T) {
	all := [][]string{{"--help"}}
	for _, cmd := range newRoot().Commands() {
		if cmd.Hidden { // what agents start, which nobody types
			continue
		}
		all = append(all, []string{cmd.Name(), "--help"})
		for _, sub := range cmd.Commands() {
			all = append(all, []string{cmd.Name(), sub.Name(), "--help"})
		}
	}
	for _, args := range all {
		_, said := call(t, args...)
		if !strings.Contains(said, "Usage:") {
			t.Errorf("%q: no usage in\n%s", args, said)
		}
		for line := range strings.Lines(said) {
			if n := table.Columns(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%q: %d columns: %s", args, n, line)
			}
		}
	}
}

// TestRunHelp: every flag of run has one line in one group, and all of it has at most 72 lines.
func TestRunHelp(t *testing.T) {
	_, said := call(t, "run", "--help")
	if n := strings.Count(said, "\n"); n > 72 {
		t.Errorf("%d lines, want at most 72", n)
	}
	newRun().Flags().VisitAll(func(f *pflag.Flag) {
		if n := strings.Count(said, "\n  --"+f.Name+" "); n != 1 && f.Name != "help" {
			t.Errorf("--%s has %d lines, want 1", f.Name, n)
		}
	})
}

// TestFlagsOfAnotherWorkload are refused by name, also where they have their usual value.
func TestFlagsOfAnotherWorkload(t *testing.T) {
	for line, want := range map[string]string{
		"--clients 4":                          "--clients is for --workload mutex or fenced-write or ",
		"--workload mutex --seats 3":           "--seats is for --workload matchmaking, and this is --workload mutex",
		"--workload sleep":                     `--workload: unknown workload "sleep" (known: matchmaking, mutex, `,
		"--workload fenced-write --clients 0":  "--clients 0: want 1 to 10000",
		"--workload handoff --resources 2":     "--resources is for --workload mutex or fenced-write",
		"--workload mutex --fencing off":       "--fencing is for --workload fenced-write, and this is --workload mutex",
		"--workload fenced-write --fencing no": "want on or off",
		"--groups 0":                           "--groups 0: want 1 to 100000",
		"--workload mutex --hold -1s":          "--hold -1s: want 0s to 1h0m0s",
		"--workload mutex --resources 2000000": "--resources 2000000: want 1 to 1000000",
		"--repeat 0":                           "--repeat 0: want 1 to 1000",
	} {
		code, said := call(t, append([]string{"run", "--topology", "nowhere"}, strings.Fields(line)...)...)
		if code != exitCannotRun || !strings.Contains(said, want) {
			t.Errorf("%s: exit code %d: %s; want %q", line, code, said, want)
		}
	}
}
