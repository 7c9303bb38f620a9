package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/noise"
	"locklab/reports/result"
)

// differenceText tells a difference: by how much, what is known of it, and what more there
// is to say.
func differenceText(say *lang.Lang, d Difference) (change string, outcome status, more string) {
	change = changeText(say, d.Figure, d.Before.Center, d.After.Center)
	if math.IsNaN(d.Before.Center) || math.IsNaN(d.After.Center) {
		change = ""
	}
	if d.Repeated && !d.Same && d.Before.Center == d.After.Center {
		change = say.Text("same median")
	}
	if d.Untested == wentOnAtEnd {
		change = ""
	}
	switch {
	case d.Untested != "" && d.Untested != wentOnAtEnd && (d.Untested != spreadUnknown || d.Same): // the row says it, or the page
		return change, status{}, ""
	case d.Untested != "":
		outcome = outcomes(say)[notTested]
		outcome.Word = untestedText(say, d.Untested)
		return change, outcome, ""
	case d.Same:
		return change, status{}, ""
	}
	known := d.known()
	switch {
	case known != unsure || d.Needed == 0:
	case d.Repeated:
		more = say.Sprintf("needs %s repeats", count(int64(d.Needed)))
	default: // what runs differ by, and none sees by itself, may make it more
		more = say.Sprintf("needs at least %s repeats", count(int64(d.Needed)))
	}
	return change, outcomes(say)[known], more
}

// What is known of a difference.
const (
	worse = iota
	better
	other
	chance
	unsure
	notTested
)

// known is what is known of the difference.
func (d *Difference) known() int {
	switch {
	case d.Untested != "":
		return notTested
	case d.Outcome == noise.Noise:
		return chance
	case d.Outcome == noise.Open:
		return unsure
	case d.Figure.Worse(d.After.Center, d.Before.Center):
		return worse
	case d.Figure.Worse(d.Before.Center, d.After.Center):
		return better
	}
	return other
}

// outcomes lists what is known of a difference, with what the words mean.
func outcomes(say *lang.Lang) []status {
	return []status{
		{"▼", say.Text("worse"), "bad", say.Text("Shown: more than chance, over all comparisons of the page together, and more than the drift of a quiet machine.")},
		{"▲", say.Text("better"), "ok", say.Text("Shown, likewise.")},
		{"◆", say.Text("other"), "warn", say.Text("Shown, of a figure that is neither good nor bad.")},
		{"~", say.Text("noise"), "none", say.Text("Chance alone, or the drift of a machine, makes differences as large as this one.")},
		{"?", say.Text("open"), "none", say.Text("Larger than chance within one run, or too few repeats to show anything: only (more) repeats can tell. The repeats of each run that it takes to find a difference of this size four times out of five stand with it.")},
		{"–", say.Text("not judged"), "none", say.Text("Nothing can be said: other conditions (another topology or load), a row that is inconclusive, a machine that others used, or a figure whose spread one run does not tell.")},
	}
}

// changeText writes a difference: as a percentage, of shares in percentage points, or as it
// is from 0.
func changeText(say *lang.Lang, f result.Figure, before, after float64) string {
	d := after - before
	sign := "+"
	if d < 0 {
		sign = "−"
	}
	switch {
	case d == 0:
		return say.Text("same")
	case f.As == result.Share:
		return say.Sprintf("%s points", sign+figure(math.Abs(d)*100))
	case before == 0:
		return sign + valueText(f, math.Abs(d))
	default:
		return fmt.Sprintf("%s%.0f%%", sign, math.Abs(d)/before*100)
	}
}

// said sums up the differences of a comparison.
func said(say *lang.Lang, files []result.File, names []string, found []Difference) []string {
	by := map[noise.Outcome][]Difference{}
	tested, fewest, repeated := 0, 0, false
	var reasons []string // why some are not tested
	for _, d := range found {
		if d.Untested != "" {
			if d.Untested == otherConditions {
				continue // that stands above
			}
			if reason := untestedText(say, d.Untested); !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
			continue
		}
		tested++
		fewest, repeated = d.Fewest, repeated || d.Repeated
		by[d.Outcome] = append(by[d.Outcome], d)
	}
	if len(found) == 0 {
		return disturbed(say, files, names)
	}
	var all []string
	if shown := by[noise.Shown]; len(shown) > 0 {
		var parts []string
		slices.SortStableFunc(shown, func(a, b Difference) int { return cmp.Compare(a.Figure.Place, b.Figure.Place) })
		const listed = 4
		for _, d := range shown[:min(len(shown), listed)] {
			change, outcome, _ := differenceText(say, d)
			where := say.Sprintf("%s under %s", plain(d.Lock), plain(d.Scenario))
			if len(files) > 2 {
				where = names[d.Run] + ", " + where
			}
			parts = append(parts, say.Sprintf("%s: %s %s (%s)", where, say.Term(d.Figure.ShortName()), change, outcome.Word))
		}
		if rest := len(shown) - listed; rest > 0 {
			parts = append(parts, say.Sprintf("and %s more", count(int64(rest))))
		}
		all = append(all, say.Sprintf("Shown to differ: %s of %s figures compared. %s.", count(int64(len(shown))), count(int64(tested)), strings.Join(parts, "; ")))
	} else if tested > 0 {
		all = append(all, say.Sprintf("No difference is shown, of %s figures compared.", count(int64(tested))))
	}
	if n := len(by[noise.Open]); n > 0 && !repeated {
		all = append(all, say.Count(int64(n), "1 differs by more than the spread within one run: open, because one run of each does not tell what another would show.", "%s differ by more than the spread within one run: open, because one run of each does not tell what another would show."))
	} else if n > 0 {
		all = append(all, say.Count(int64(n), "1 is open: there are too few repeats.", "%s are open: there are too few repeats."))
	}
	if n := len(by[noise.Noise]); n > 0 {
		all = append(all, say.Count(int64(n), "1 is the same or noise.", "%s are the same or noise."))
	}
	if tested > 0 && len(by[noise.Shown]) == 0 {
		all = append(all, say.Sprintf("With so many comparisons at once, it takes %s repeats of each run to show anything.", count(int64(fewest))))
	}
	switch {
	case len(reasons) > 0 && tested == 0:
		all = append(all, say.Sprintf("No difference is judged: %s.", strings.Join(reasons, ", ")))
	case len(reasons) > 0:
		all = append(all, say.Sprintf("Some differences are not judged: %s.", strings.Join(reasons, ", ")))
	}
	return append(all, disturbed(say, files, names)...)
}

// disturbed says during which repeats of which rows others used the machine.
func disturbed(say *lang.Lang, files []result.File, names []string) (all []string) {
	var leftOut, busy []string
	for i, f := range files {
		for _, r := range f.Results {
			where := say.Sprintf("%s in %s", say.Sprintf("%s under %s", plain(r.Lock), plain(r.Scenario)), names[i])
			switch q := quietOf(r); {
			case q.busy:
				busy = append(busy, where)
			case q.leftOut > 0:
				leftOut = append(leftOut, say.Sprintf("%d of %s", q.leftOut, where))
			}
		}
	}
	if len(leftOut) > 0 {
		all = append(all, say.Sprintf("Repeats during which others used the machine are left out of the figures that are compared: %s. Verdicts, changed ones too, and what each lock does at worst are of all repeats.", say.List(leftOut)))
	}
	if len(busy) > 0 {
		all = append(all, say.Sprintf("During all repeats of these others used the machine, so that their figures are shown, but no difference from them is judged: %s.", say.List(busy)))
	}
	return all
}

// undecidedRows says which rows of the runs are inconclusive, and why.
func undecidedRows(say *lang.Lang, files []result.File, names []string) string {
	const shown = 3
	var parts []string
	for i, f := range files {
		for _, one := range byReason(rowsWith(f.Results, func(r result.Row) bool { return r.Verdict.Undecided() })) {
			text := finding{text: rowNames(say, one.rows, shown)}.Plain()
			parts = append(parts, say.Sprintf("%s in %s", text, names[i])+": "+strings.TrimRight(lower(plain(say.Whole(one.why))), ". "))
		}
	}
	if more := len(parts) - shown; more > 0 {
		parts = append(parts[:shown], say.Sprintf("and %d more", more))
	}
	if len(parts) == 0 {
		return ""
	}
	return say.Sprintf("Inconclusive: %s.", strings.Join(parts, "; "))
}

// method says how differences are judged.
func method(say *lang.Lang) []string {
	return []string{
		say.Sprintf("With repeats, a figure is the median over them, its interval the 95 %% one by order statistics (of fewer than six repeats, all of them), and two runs are compared by the Mann-Whitney U test, which assumes no distribution. Repeats during which others used more than %s of the CPUs are left out, unless all of a row are such: then they are shown, and nothing is judged by them. A difference of less than %s of the smaller value of a time or a rate, or 0.1 points of a share, is not called shown: runs of one program drift as far apart.", percent(noise.Quiet), percent(noise.Drift)),
		say.Text("Without repeats, the interval comes from the spread within the run: its time is cut into twenty blocks, which are drawn anew many times, each in place of one under the same faults (block bootstrap); that of a latency or acquire time is where 95 % of these draws lie. What stays the same throughout a run and differs between runs is not in it, so a single run of each shows no difference; it can only tell what is noise."),
		say.Text("All comparisons of this page count together (Holm’s method): the chance that any is called shown, although nothing changed, is at most 5 %."),
	}
}
