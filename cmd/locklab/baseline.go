package main

import (
	"fmt"
	"path/filepath"

	"locklab/cmd/locklab/internal/failon"
	"locklab/workloads/result"
)

// parseThresholds reads those of --fail-on. Differences need something to differ from.
func parseThresholds(texts []string, baseline bool, missing string) (all []failon.Threshold, err error) {
	for _, text := range texts {
		t, err := failon.Parse(text)
		if err != nil {
			return nil, err
		}
		if t.Differs() && !baseline {
			return nil, fmt.Errorf("--fail-on %q: it is a difference: %s", text, missing)
		}
		all = append(all, t)
	}
	return all, nil
}

// readBaseline is the result to compare with; nil without one.
func readBaseline(dir string) (*result.File, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // no baseline is none
	}
	file, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		return nil, fmt.Errorf("--baseline: %w", err)
	}
	return &file, nil
}

// gate finds what crosses a threshold in any but the first of several files, or in the only one. It
// says so line by line, with the exit code that follows.
func gate(files []result.File, thresholds []failon.Threshold) (told []string, code int) {
	var rows []result.Row
	for _, f := range files[min(len(files)-1, 1):] {
		for _, r := range f.Rows {
			for _, t := range thresholds {
				if t.Crossed(r) {
					code = exitViolated
					told = append(told, fmt.Sprintf("crossed --fail-on: %s under %s: %s", r.Lock, r.Scenario, t))
				}
			}
		}
		rows = append(rows, f.Rows...)
	}
	for _, t := range thresholds {
		if t.Missing(rows) {
			told = append(told, fmt.Sprintf("--fail-on %s decides nothing: no row has that figure", t))
		}
	}
	return told, code
}

func (s show) compare(files []result.File, dirs []string, out string) error { return nil }
