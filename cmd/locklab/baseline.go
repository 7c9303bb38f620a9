package main

import (
	"fmt"
	"os"
	"path/filepath"

	"locklab/cmd/locklab/internal/threshold"
	"locklab/reports/compare"
	"locklab/workloads/result"
)

// parseThresholds reads those of --fail-on. Differences need something to differ from.
func parseThresholds(texts []string, baseline bool, missing string) (all []threshold.Threshold, err error) {
	for _, text := range texts {
		t, err := threshold.Parse(text)
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
func (f *runFlags) readBaseline() (*result.File, error) {
	if f.baseline == "" {
		return nil, nil //nolint:nilnil // no baseline is none
	}
	file, err := result.Read(filepath.Join(f.baseline, result.FileName))
	return &file, named("--baseline", err)
}

// gate tells in lines what crosses a threshold, with the exit code that follows: 2 if any is
// crossed, 4 if a difference is beyond one and cannot be claimed.
func gate(files []result.File, names []string, thresholds []threshold.Threshold) (told []string, code int) {
	for _, f := range threshold.Gate(files, thresholds) {
		text := f.String()
		if len(files) > 2 {
			text = names[f.Run] + ": " + text
		}
		switch told = append(told, text); {
		case !f.Open:
			code = exitViolated
		case code == exitOK:
			code = exitInconclusive
		}
	}
	var rows []*result.Row
	for _, f := range files {
		for i := range f.Rows {
			rows = append(rows, &f.Rows[i])
		}
	}
	for _, t := range thresholds {
		if t.Missing(rows...) {
			told = append(told, fmt.Sprintf("--fail-on %s decides nothing: no row has that figure", t))
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
	s.where(out)
	return nil
}

// nothingInCommon refuses results of which nothing can be compared with the first.
func nothingInCommon(dirs []string, files []result.File) error {
	apart := compare.Apart(files)
	if len(apart) == 0 {
		return nil
	}
	return fmt.Errorf("nothing in common: no row of %s is in %s: want the same lock, options, scenario and workload in both",
		dirs[0], dirs[apart[0]])
}
