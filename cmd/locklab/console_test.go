package main

import (
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
