//go:build e2e

package main_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/internal/tracing/tracingtest"
)

// TestE2ETraces: one trace has what a player, a master and a worker did for one match, with
// the lock that was acquired for it.
func TestE2ETraces(t *testing.T) {
	t.Parallel()
	collector := tracingtest.Start(t)
	out := run(t, nil, "run", "--topology", "one-host", "--locks", "redlock:ttl=2s", "--scenarios", "baseline", "--duration", "2s",
		"--otlp", collector.Addr, "--out", filepath.Join(t.TempDir(), "out"))
	if out.code == 1 || strings.Contains(out.stderr, "traces are lost") { // its verdict is the machine's
		t.Fatalf("exit code %d\n%s", out.code, out.stderr)
	}
	whole, most := 0, 0
	for _, spans := range collector.Traces() {
		byName := map[string]tracingtest.Span{}
		for _, s := range spans {
			byName[s.Service+" "+s.Name] = s
		}
		player, master := byName["locklab-player match"], byName["locklab-master match"]
		lock, order, room := byName["locklab-master acquire lock"], byName["locklab-master order room"], byName["locklab-worker create room"]
		most = max(most, len(spans))
		if room.Name == "" || room.Attributes["locklab.result"] != "ok" {
			continue
		}
		whole++
		if player.Parent != "" || master.Parent != player.ID || lock.Parent != master.ID || order.Parent != master.ID || room.Parent != order.ID {
			t.Fatalf("the spans of one match do not hang together: %+v", spans)
		}
		if lock.Attributes["locklab.lock"] != "redlock:ttl=2s" || lock.Attributes["locklab.outcome"] != "ok" || room.Instance != "worker-a" || master.Instance != "master-a" {
			t.Fatalf("the spans do not say what was done: %+v", spans)
		}
		if !slices.ContainsFunc(spans, func(s tracingtest.Span) bool { return s.Name == "find seat" && s.Parent == master.ID }) {
			t.Errorf("no seat was looked for: %+v", spans)
		}
	}
	if whole == 0 {
		t.Errorf("none of %d traces, the longest of %d spans, goes from a player to a worker", len(collector.Traces()), most)
	}
	nothingLeft(t)
}
