// Package compare compares repeated runs: of locks in one run, or of one run with another. It claims a difference
// only with repeats, and only where chance does not explain it: see package stats.
package compare

import (
	"fmt"
	"slices"
	"strings"

	"locklab/reports/compare/stats"
	"locklab/workloads/result"
)

// Sample is a figure of one cell: the median of its repeats, and that median's interval.
type Sample struct {
	Median, Low, High float64
	N                 int
	values            []float64
}

// sampleOf leaves out repeats that are not sound; false if nothing is left.
func sampleOf(c *result.Cell, figure string) (s Sample, known bool) {
	for _, r := range c.Rows {
		if v, has := r.Of(figure); has && r.Decided() {
			s.values = append(s.values, v)
		}
	}
	if s.N = len(s.values); s.N == 0 {
		return s, false
	}
	s.Median = result.Median(s.values)
	s.Low, s.High, _ = stats.Interval(s.values)
	return s, true
}

// Difference is one figure of two cells.
type Difference struct {
	result.Key
	Run    int // index of the file that is compared with the first
	Figure result.Figure

	Before, After Sample
	Chance        float64 // over all tests, of such a difference although nothing changed
	Tested        bool    // both have repeats, and equal settings
}

// Outcome is the claim about a difference.
type Outcome string

// The outcomes. Side by side: no difference is claimed.
const (
	Worse      Outcome = "worse"
	Better     Outcome = "better"
	Other      Outcome = "other"
	SideBySide Outcome = ""
)

// Outcome compares After with Before.
func (d *Difference) Outcome() Outcome {
	higher := d.After.Median > d.Before.Median
	switch {
	case !d.Tested || d.Chance > stats.Level || d.After.Median == d.Before.Median:
		return SideBySide
	case d.Figure.Better == result.Neither:
		return Other
	case higher == (d.Figure.Better == result.Higher):
		return Better
	}
	return Worse
}

// Runs compares the given figures, by default all that comparisons have, of each further file with the first one.
// All tests are corrected together.
func Runs(files []result.File, figures ...result.Figure) (all []Difference) {
	if len(figures) == 0 {
		figures = slices.DeleteFunc(result.Figures(), func(f result.Figure) bool { return !f.Compare })
	}
	cells := files[0].Cells()
	for i := 1; i < len(files); i++ {
		same := !slices.ContainsFunc(mismatches(files[0].Run, files[i].Run), func(m mismatch) bool { return m.Refuses })
		for _, after := range files[i].Cells() {
			at := slices.IndexFunc(cells, func(c result.Cell) bool { return c.Key == after.Key })
			if at < 0 {
				continue
			}
			for _, f := range figures {
				a, had := sampleOf(&cells[at], f.Name)
				b, has := sampleOf(&after, f.Name)
				if had && has {
					tested := same && a.N > 1 && b.N > 1
					all = append(all, Difference{Key: after.Key, Run: i, Figure: f, Before: a, After: b, Tested: tested})
				}
			}
		}
	}
	return correct(all)
}

// correct tests all figures together. One that is the same in all repeats is not tested.
func correct(all []Difference) []Difference {
	var chances []float64
	var of []*Difference
	for i := range all {
		d := &all[i]
		d.Chance = 1
		if v := slices.Concat(d.Before.values, d.After.values); d.Tested && slices.Min(v) < slices.Max(v) {
			chances, of = append(chances, stats.MannWhitney(d.Before.values, d.After.values)), append(of, d)
		}
	}
	for i, p := range stats.Holm(chances) {
		of[i].Chance = p
	}
	return all
}

// Apart is the index of a further file that shares no cell with the first one; 0 if there is none.
func Apart(files []result.File) int {
	cells := files[0].Cells()
	return 1 + slices.IndexFunc(files[1:], func(f result.File) bool {
		return !slices.ContainsFunc(f.Cells(), func(c result.Cell) bool {
			return slices.ContainsFunc(cells, func(o result.Cell) bool { return o.Key == c.Key })
		})
	})
}

// mismatch is a setting in which two runs differ. Refuses: the locks had different work, so no difference is
// claimed.
type mismatch struct {
	Name, Was, Is string
	Refuses       bool
}

// mismatches lists the settings in which two runs differ.
func mismatches(a, b result.Run) []mismatch {
	machine := func(h result.Host) string {
		return fmt.Sprintf("%s/%s, %d x %s, %s", h.OS, h.Arch, h.CPUs, h.CPUModel, h.Go)
	}
	versions := func(of map[string]string) string { return strings.TrimPrefix(fmt.Sprint(of), "map") } // in order
	return slices.DeleteFunc([]mismatch{
		{"topology", a.Topology, b.Topology, true},
		{"load", a.Load, b.Load, true},
		{"machine", machine(a.Host), machine(b.Host), false},
		{"versions", versions(a.Versions), versions(b.Versions), false},
	}, func(m mismatch) bool { return m.Was == m.Is })
}
