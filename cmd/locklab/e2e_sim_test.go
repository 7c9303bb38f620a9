//go:build e2e

package main_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"locklab/workloads/result"
)

// TestE2ESimReplay: what a simulation found, made small and written as a scenario shows
// on real processes.
func TestE2ESimReplay(t *testing.T) {
	for lock, args := range map[string][]string{
		"multiphase":              {"--faults", "partition,crash", "--seeds", "50"},
		"multiphase:rule=literal": {"--seeds", "200"},
	} {
		file := filepath.Join(t.TempDir(), "found.yaml")
		out := mustRun(t, 2, append([]string{"sim", lock, "--out", file}, args...)...)
		replay := regexp.MustCompile(`(?m)^replay: +locklab run (.*)$`).FindStringSubmatch(out.stdout)
		if replay == nil {
			t.Fatalf("no command to replay:\n%s", out.stdout)
		}
		_, dir := compare(t, nil, 0, strings.Fields(replay[1])...)
		rows := read(t, dir).Rows
		if len(rows) != 1 || rows[0].Verdict.Safety.State != result.Failed {
			t.Fatalf("%s: %+v", lock, rows)
		}
		if r := rows[0]; r.Figures["duplicates"] == 0 && r.Figures["overlaps"] == 0 {
			t.Errorf("%s: neither duplicates nor overlaps: %+v", lock, r)
		}
	}
}
