package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"locklab/cmd/locklab/internal/failon"
	"locklab/reports/compare"
	"locklab/reports/table"
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
// tells so in lines, with the exit code that follows: 2 if any is crossed, 4 if a difference is
// beyond one and nobody can claim it.
func gate(files []result.File, names []string, thresholds []failon.Threshold) (told []string, code int) {
	say := func(crossed int, text string) {
		if code == exitOK || crossed < code {
			code = crossed
		}
		if !slices.Contains(told, text) {
			told = append(told, text)
		}
	}
	var rows []result.Row
	var figures []result.Figure
	for _, f := range files[min(len(files)-1, 1):] {
		rows = append(rows, f.Rows...)
	}
	for _, t := range thresholds {
		if t.Missing(rows) {
			told = append(told, fmt.Sprintf("--fail-on %s decides nothing: no row has that figure", t))
		}
		if t.Differs() {
			figures = append(figures, t.Figure())
		}
	}
	for _, r := range rows {
		for _, t := range thresholds {
			if t.Crossed(r) {
				say(exitViolated, fmt.Sprintf("crossed --fail-on: %s under %s: %s", r.Lock, r.Scenario, t))
			}
		}
	}
	if len(figures) == 0 {
		return told, code
	}
	for _, d := range compare.Runs(files, figures...) {
		for _, t := range thresholds {
			if t.Figure().Name != d.Figure.Name || !t.Beyond(d.Before.Median, d.After.Median) {
				continue
			}
			text := fmt.Sprintf("%s, %s under %s: %s: %s, it was %s", names[d.Run], d.Lock, d.Scenario, t, table.Figure(d.Figure, d.After.Median), table.Figure(d.Figure, d.Before.Median))
			if d.Outcome() != compare.SideBySide {
				say(exitViolated, "crossed --fail-on: "+text)
			} else {
				say(exitInconclusive, "open --fail-on: "+text+": only more repeats of each run can tell")
			}
		}
	}
	return told, code
}

// compare writes a comparison of runs and tells what it came to.
func (s show) compare(files []result.File, names []string, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return err
	}
	if err := compare.Write(out, files, names); err != nil {
		return err
	}
	s.lines(compare.Said(s.say, files, names, compare.Runs(files)))
	fmt.Fprintln(s.stdout, reportLine(s.say, out))
	return nil
}

// nothingInCommon refuses results of which nothing can be compared with the first.
func nothingInCommon(dirs []string, files []result.File) error {
	apart := compare.Apart(files)
	if len(apart) == 0 {
		return nil
	}
	return fmt.Errorf("nothing in common: no row of %s is in %s: want the same lock, options, scenario and workload in both", dirs[0], dirs[apart[0]])
}
