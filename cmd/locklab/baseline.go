package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strings"

	"locklab/cmd/locklab/internal/failon"
	"locklab/internal/sentence"
	"locklab/reports"
	"locklab/reports/noise"
	"locklab/reports/result"
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

// beyond is a difference that is larger than a threshold. Shown says that it is one; all
// others are open: whoever asks for less than runs differ by is told so, and not that all is
// well. Of is the name of its run, where several are compared with the first.
type beyond struct {
	reports.Difference
	threshold failon.Threshold
	shown     bool
	of        string
}

// row names what differs.
func (b beyond) row() string {
	text := fmt.Sprintf("%s under %s", b.Lock, b.Scenario)
	if b.of != "" {
		return b.of + ": " + text
	}
	return text
}

// String says what was crossed, or why nobody knows.
func (b beyond) String() string {
	text := fmt.Sprintf("%s: %s: %s, it was %.4g", b.row(), b.threshold, centerText(b.After.Center), b.Before.Center)
	if b.shown {
		return "crossed --fail-on: " + text
	}
	text = "open --fail-on: " + text
	if why, needed := b.open(); why != "" {
		text += ": " + strings.TrimSpace(why+" "+needed)
	}
	return text
}

// open says why nobody knows, and how many repeats of each run would tell, if that is known.
func (b beyond) open() (why, needed string) {
	switch {
	case b.Untested != "":
		return "not judged: " + b.Untested, ""
	case b.Outcome == noise.Noise && b.Small && b.Figure.As == result.Share:
		return fmt.Sprintf("below what runs of one program differ by (%.4g)", noise.DriftShare), ""
	case b.Outcome == noise.Noise && b.Small:
		return fmt.Sprintf("below what runs of one program differ by (%.0f %%)", 100*noise.Drift), ""
	case b.Needed > 0 && !b.Repeated:
		return "only more repeats of each run can tell", fmt.Sprintf("(at least %d)", b.Needed)
	case b.Needed > 0:
		return "only more repeats of each run can tell", fmt.Sprintf("(%d)", b.Needed)
	}
	return "", ""
}

// gate finds the differences from the first file that are beyond a threshold.
func gate(files []result.File, thresholds []failon.Threshold) (all []beyond) {
	var figures []result.Figure
	for _, t := range thresholds {
		if t.Differs() {
			figures = append(figures, t.Figure())
		}
	}
	if len(figures) == 0 {
		return nil
	}
	for _, d := range reports.Differences(files, figures...) {
		of := ""
		if len(files) > 2 {
			of = files[d.Run].Run.ID
		}
		for _, t := range thresholds {
			if t.Figure().Field == d.Figure.Field && t.Beyond(d.Before.Center, d.After.Center) {
				all = append(all, beyond{d, t, d.Outcome == noise.Shown && d.Untested == "", of})
			}
		}
	}
	return append(all, gone(files, thresholds)...)
}

// gone are the times that ended in the first file and never in another one.
func gone(files []result.File, thresholds []failon.Threshold) (all []beyond) {
	for run := 1; run < len(files); run++ {
		of := ""
		if len(files) > 2 {
			of = files[run].Run.ID
		}
		for _, before := range files[0].Results {
			for _, after := range files[run].Results {
				if before.Lock != after.Lock || before.Scenario != after.Scenario || before.Workload != after.Workload {
					continue
				}
				for _, t := range thresholds {
					f := t.Figure()
					was, had := f.Of(before)
					if !had || f.Never(before) || !f.Never(after) || !t.Beyond(was, math.Inf(1)) {
						continue
					}
					d := reports.Difference{Run: run, Lock: after.Lock, Scenario: after.Scenario, Workload: after.Workload, Figure: f}
					d.Before.Center, d.After.Center = was, math.Inf(1)
					if before.Verdict.Undecided() || after.Verdict.Undecided() {
						d.Untested = result.StatusInconclusive
					}
					all = append(all, beyond{d, t, d.Untested == "", of})
				}
			}
		}
	}
	return all
}

// centerText is a figure; a time that never ended is none.
func centerText(v float64) string {
	if math.IsInf(v, 1) {
		return "it never came"
	}
	return fmt.Sprintf("%.4g", v)
}

// missing says which thresholds none of the rows has the figure of: whoever waits for such a one
// waits in vain.
func missing(files []result.File, thresholds []failon.Threshold) (all []string) {
	var rows []result.Row
	for _, f := range files {
		rows = append(rows, f.Results...)
	}
	for _, t := range thresholds {
		if t.Missing(rows) {
			all = append(all, fmt.Sprintf("--fail-on %s decides nothing: no row has that figure", t))
		}
	}
	return all
}

// applyGate puts into the verdicts what is beyond a threshold. What is open makes a row that
// was as expected inconclusive.
func applyGate(rows []result.Row, found []beyond) {
	for _, b := range found {
		for i := range rows {
			r := &rows[i]
			if r.Lock != b.Lock || r.Scenario != b.Scenario || r.Workload != b.Workload {
				continue
			}
			switch v := &r.Verdict; {
			case b.shown:
				v.FailedOns = append(v.FailedOns, b.threshold.String())
			case v.Status == result.StatusExpected || v.Status == result.StatusNotJudged:
				v.KeepOwn()
				v.Say(sentence.Of("%s. Without that it would be %s: %s", b.String(), sentence.Term(v.Status), v.Told()))
				v.Status = result.StatusInconclusive
			}
		}
	}
}

// tellGate prints what report found beyond thresholds, and makes an exit code of it. Each reason
// for which nobody knows is said once, with the rows that it is true of.
func tellGate(w io.Writer, files []result.File, thresholds []failon.Threshold) error {
	code := exitOK
	var reasons []string
	rows := map[string][]string{}
	for _, b := range gate(files, thresholds) {
		if b.shown {
			code = exitViolated
			fmt.Fprintln(w, reports.Wrap(b.String(), widthOf(w), 2))
			continue
		}
		if code == exitOK {
			code = exitInconclusive
		}
		why, needed := b.open()
		reason := strings.TrimSuffix(fmt.Sprintf("open --fail-on: %s: %s", b.threshold, why), ": ")
		row := strings.TrimSpace(fmt.Sprintf("%s: %s, it was %.4g %s", b.row(), centerText(b.After.Center), b.Before.Center, needed))
		if len(rows[reason]) == 0 {
			reasons = append(reasons, reason)
		}
		rows[reason] = append(rows[reason], row)
	}
	for _, reason := range reasons {
		const most = 4
		all := rows[reason]
		if more := len(all) - most; more > 0 {
			all = append(all[:most:most], fmt.Sprintf("and %d more, which the report has", more))
		}
		fmt.Fprintln(w, reports.Wrap(reason+": "+strings.Join(all, "; "), widthOf(w), 2))
	}
	for _, text := range missing(files, thresholds) {
		fmt.Fprintln(w, reports.Wrap(text, widthOf(w), 2))
	}
	for _, f := range files[min(len(files)-1, 1):] {
		for _, r := range f.Results {
			for _, t := range thresholds {
				if t.Crossed(r) {
					code = exitViolated
					fmt.Fprintln(w, reports.Wrap(fmt.Sprintf("crossed --fail-on: %s: %s under %s: %s", f.Run.ID, r.Lock, r.Scenario, t), widthOf(w), 2))
				}
			}
		}
	}
	if code != exitOK {
		return &exitError{code: code}
	}
	return nil
}
