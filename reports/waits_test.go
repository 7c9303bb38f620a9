package reports_test

import (
	"bytes"
	"encoding/csv"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/reports"
	"locklab/reports/result"
)

// withWaits turns the sample into one of the mutex workload.
func withWaits(t *testing.T, dir string) {
	t.Helper()
	edit(t, dir, func(f *result.File) {
		var rows []result.Row
		for i, lock := range []string{"multiphase", "multiphase:fair=off"} {
			r := f.Results[0]
			zero, fair := int64(0), []float64{1, 0.9626}[i]
			r.Lock, r.Workload, r.Matches, r.RoomsCreated, r.Duplicates, r.DuplicatesPer1000 = lock, "mutex", 0, nil, nil, nil
			r.Overlaps, r.FillMS, r.Histories, r.PeerFairness, r.ViolationsAtMS = &zero, nil, nil, &fair, nil
			r.Verdict = result.Verdict{Status: result.StatusExpected, Safety: "safe", Liveness: "live", Why: "No violation, and it stayed live."}
			for rank, node := range []string{"master-far", "master-1", "master-2"} {
				r.Peers = append(r.Peers, result.Peer{
					Node: node, Zone: []string{"f", "n", "n"}[rank], Rank: &rank, Acquires: int64(1717 + 417*min(rank, 1)*i),
					WaitMS:    &result.Quantiles{P50: 9.91, P99: 31.56, P999: 40, Max: 1041.1 / float64(rank+1)},
					BypassMax: 2 + 12*int64(i), BypassMean: 1.154 / float64(rank+1), BypassInARowMax: 2 + 12*int64(i)/int64(rank+1),
				})
			}
			rows = append(rows, r)
		}
		// Somebody who was never served, and whose node the topology does not know.
		rows[1].Peers = append(rows[1].Peers, result.Peer{Node: "stranger", GaveUp: 12345})
		f.Results = rows
	})
}

func TestWaitsOfTheMutexWorkload(t *testing.T) {
	dir := sample(t)
	withWaits(t, dir)
	generate(t, []string{dir}, "")
	golden(t, filepath.Join("mutex", reports.MarkdownFile), read(t, dir, reports.MarkdownFile))
	_, section, found := bytes.Cut(read(t, dir, reports.PageFile), []byte(`<section id="waits"`))
	if !found {
		t.Fatal("the page has no section on waits")
	}
	section, _, _ = bytes.Cut(section, []byte(`</section>`))
	golden(t, filepath.Join("mutex", "waits.html"), append(section, '\n'))

	lines, err := csv.NewReader(bytes.NewReader(read(t, dir, reports.CSVFile))).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines in the CSV, %v", len(lines), err)
	}
	for name, want := range map[string]string{"peer_fairness_jain": "0.9626", "peer_wait_max_ms": "1041.1", "peer_bypass_in_a_row_max": "14"} {
		if i := slices.Index(lines[0], name); i < 0 || lines[2][i] != want {
			t.Errorf("column %s (%d): want %s in %q", name, i, want, lines[2])
		}
	}
}

func TestNoWaitsWithoutMasters(t *testing.T) {
	dir := sample(t)
	generate(t, []string{dir}, "")
	for _, name := range []string{reports.PageFile, reports.MarkdownFile} {
		if strings.Contains(string(read(t, dir, name)), "Who waited") {
			t.Errorf("%s has a table of waits, for matchmaking", name)
		}
	}
}

func TestWaitsEscapeHostileNames(t *testing.T) {
	dir := sample(t)
	withWaits(t, dir)
	edit(t, dir, func(f *result.File) {
		f.Results[0].Lock, f.Results[0].Scenario, f.Results[0].Workload = hostile, hostile, hostile
		f.Results[0].Peers[0].Node, f.Results[0].Peers[0].Zone = hostile, hostile
	})
	generate(t, []string{dir}, "")
	escaped(t, dir)
}
