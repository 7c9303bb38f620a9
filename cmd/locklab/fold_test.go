package main

import (
	"strings"
	"testing"
)

func TestLinesFoldBelowTheirLastColumn(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"what fits stays":         {"one  two three\n", "one  two three\n"},
		"a column":                {"  raft  safe, and live again at once\n  etcd  safe\n", "  raft  safe, and\n        live again\n        at once\n  etcd  safe\n"},
		"no column":               {"want one of raft, etcd", "want one of raft,\n  etcd"},
		"no column, but indented": {"  one two three four", "  one two three\n    four"},
		"too far right":           {"a           b         c d e f", "a           b c d e\n            f"},
		"Korean":                  {"락  서버가 부여한 뒤에도", "락  서버가 부여한\n    뒤에도"},
		"a long word":             {"raft reports/runs/2026-11-23T02-24-09", "raft\n  reports/runs/2026-11-23T02-24-09"},
	} {
		if have := fold(c.text, 19); have != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, have, c.want)
		}
	}
}

// TestCommandsFoldAsAShellTakesThem, so that they can be copied.
func TestCommandsFoldAsAShellTakesThem(t *testing.T) {
	for width, want := range map[int]string{
		0:  "run: locklab run --locks raft",
		80: "run: locklab run --locks raft",
		22: "run: locklab run \\\n     --locks raft",
	} {
		if have := foldCommand("run: ", "locklab run --locks raft", width); have != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", width, have, want)
		}
	}
}

// TestTablesArePartedWhereTheyAreTooWide, with what says what a line is of in each part.
func TestTablesArePartedWhereTheyAreTooWide(t *testing.T) {
	one := textTable{keys: 1, breaks: []int{2}}
	one.row("락", "grants", "wait", "most")
	one.row("raft", "7", "12", "3")
	for width, want := range map[int]string{
		0:  "    락  grants  wait  most\n  raft       7    12     3\n",
		26: "    락  grants  wait  most\n  raft       7    12     3\n",
		20: "    락  grants\n  raft       7\n    락  wait  most\n  raft    12     3\n",
		13: "    락  grants\n  raft       7\n    락  wait\n  raft    12\n    락  most\n  raft     3\n",
	} {
		var out strings.Builder
		if one.write(&out, width); out.String() != want {
			t.Errorf("%d columns:\n%swant\n%s", width, out.String(), want)
		}
	}
}
