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
	file := filepath.Join(t.TempDir(), "found.yaml")
	out := mustRun(t, 2, "sim", "multiphase", "--out", file, "--faults", "partition,crash", "--seeds", "50")
	replay := regexp.MustCompile(`(?m)^replay: +locklab run (.*)$`).FindStringSubmatch(out.stdout)
	if replay == nil {
		t.Fatalf("no command to replay:\n%s", out.stdout)
	}
	_, dir := compare(t, nil, 0, strings.Fields(replay[1])...)
	rows := read(t, dir).Rows
	if len(rows) != 1 || rows[0].Verdict.Safety.State != result.Failed || rows[0].Figures["duplicates"]+rows[0].Figures["overlaps"] == 0 {
		t.Fatalf("%+v", rows)
	}
}
