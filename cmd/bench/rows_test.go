package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestRowsSayWhatTheyCompare looks at the names, which are all that a reader of the
// table gets to know: what makes a figure other than it seems stands in it.
func TestRowsSayWhatTheyCompare(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range rows() {
		if seen[r.name] {
			t.Errorf("two rows are named %q", r.name)
		}
		seen[r.name] = true
		for _, rule := range []struct{ of, and, want string }{
			{"redlock", "one key", "wake=publish|textbook"},
			{"redlock:wake=publish", "changes", "wake-ups, not the algorithm|its local queue"},
			{"redlock", "1 ms delay", "drawn from 0.5 to 1.5 ms"},
			{"redlock acquire+release", "", "one process over shared pipelines"},
			{"etcd Mutex", "one key", "100 ms timer"},
		} {
			if !strings.Contains(r.name, rule.of) || !strings.Contains(r.name, rule.and) {
				continue
			}
			said := false
			for want := range strings.SplitSeq(rule.want, "|") {
				said = said || strings.Contains(r.name, want)
			}
			if !said {
				t.Errorf("row %q: want one of %q in its name", r.name, rule.want)
			}
		}
	}
	all := strings.Join(slices.Collect(maps.Keys(seen)), "\n")
	for _, want := range []string{
		"redsync with 1 ms delay, drawn from 0.5 to 1.5 ms; wake-ups, not the algorithm",
		"(textbook), one key, 16 clients of 1 worker: owner changes / redsync, both with 1 ms delay, drawn from 0.5 to 1.5 ms",
		"our own mutex on etcd's leases and watches, without that timer, one key",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no row is named %q", want)
		}
	}
}
