package reports

import (
	"slices"

	"locklab/reports/lang"
	"locklab/reports/noise"
	"locklab/reports/result"
)

// Difference is one figure of a row against the same of the first run.
type Difference struct {
	Run                      int // of the files
	Lock, Scenario, Workload string
	Figure                   result.Figure
	noise.Comparison
	Untested string // in a few words why there is no test; "" if there is one
}

// quiet are a row's repeats without those during which others used the machine: how many were left out, or
// that all were such, so that none was. Where the machine does not tell, none is.
type quiet struct {
	repeats []result.Repeat
	leftOut int
	busy    bool
}

func quietOf(r result.Row) quiet {
	left := slices.DeleteFunc(slices.Clone(r.PerRepeat), func(one result.Repeat) bool { return one.Figures[result.OthersField] > noise.Quiet })
	if len(r.PerRepeat) > 0 && len(left) == 0 {
		return quiet{repeats: r.PerRepeat, busy: true}
	}
	return quiet{repeats: left, leftOut: len(r.PerRepeat) - len(left)}
}

// Why nothing is tested: of a whole run, of a row, of one figure.
const (
	otherConditions = "other conditions"
	rowInconclusive = "inconclusive"
	busyMachine     = "busy machine"
	spreadUnknown   = "spread unknown"
	wentOnAtEnd     = "went on"
)

// untestedText says why, in a few words.
func untestedText(say *lang.Lang, why string) string {
	switch why {
	case otherConditions:
		return say.Text("other conditions")
	case rowInconclusive:
		return say.Text("inconclusive")
	case busyMachine:
		return say.Text("busy machine")
	case wentOnAtEnd:
		return say.Text("went on when the measured part ended")
	}
	return say.Text("spread unknown")
}

// Differences compares every row of the further files with that of the first one, in the
// figures that comparisons show and in those besides. All tests count together.
func Differences(files []result.File, besides ...result.Figure) []Difference {
	var all []Difference
	figures := slices.DeleteFunc(result.Figures(), func(f result.Figure) bool { return !f.Compare || f.IsText() })
	for _, f := range besides {
		if !slices.ContainsFunc(figures, func(o result.Figure) bool { return o.Field == f.Field }) {
			figures = append(figures, f)
		}
	}
	for i := 1; i < len(files); i++ {
		refused := slices.ContainsFunc(mismatches(lang.English(), files[0], files[i]), func(m mismatch) bool { return m.Refuses })
		for _, after := range files[i].Results {
			before, ok := findRow(files[0].Results, after.Lock, after.Scenario, after.Workload)
			if !ok {
				continue
			}
			for _, f := range figures {
				if d, both := difference(before, after, f); both {
					d.Run = i
					if refused {
						d.Untested = otherConditions
					}
					all = append(all, d)
				}
			}
		}
	}
	var tested []*noise.Comparison
	for i := range all {
		if all[i].Untested == "" {
			tested = append(tested, &all[i].Comparison)
		}
	}
	noise.Holm(tested)
	return all
}

// Apart are the further files that have no row of the first one: nothing of them is compared.
func Apart(files []result.File) (indices []int) {
	for i := 1; i < len(files); i++ {
		if !slices.ContainsFunc(files[i].Results, func(r result.Row) bool {
			_, both := findRow(files[0].Results, r.Lock, r.Scenario, r.Workload)
			return both
		}) {
			indices = append(indices, i)
		}
	}
	return indices
}

// difference of one figure, if both rows have it.
func difference(before, after result.Row, f result.Figure) (d Difference, both bool) {
	_, had := f.Of(before)
	_, has := f.Of(after)
	if !had || !has {
		return d, false
	}
	a, b := sampleOf(before, f), sampleOf(after, f)
	kind := noise.Measure
	switch f.As {
	case result.Share:
		kind = noise.Share
	case result.Count:
		kind = noise.Count
	default:
	}
	d = Difference{Lock: after.Lock, Scenario: after.Scenario, Workload: after.Workload, Figure: f, Comparison: noise.Compare(a, b, kind)}
	switch {
	case before.Verdict.Undecided() || after.Verdict.Undecided():
		d.Untested = rowInconclusive
	case f.Field == result.OutageField && (anyWentOn(before) || anyWentOn(after)): // nobody knows how long it was
		d.Untested = wentOnAtEnd
	case quietOf(before).busy || quietOf(after).busy:
		d.Untested = busyMachine
	case !d.Tested():
		d.Untested = spreadUnknown
	}
	return d, true
}

// sampleOf is a figure in the repeats that can be compared.
func sampleOf(r result.Row, f result.Figure) (s noise.Sample) {
	r.PerRepeat = quietOf(r).repeats
	s.Values, s.Error = r.Values(f)
	if len(r.PerRepeat) == 1 {
		if within, known := r.PerRepeat[0].Range[f.Field]; known {
			s.Range = &within
		}
	}
	return s
}
