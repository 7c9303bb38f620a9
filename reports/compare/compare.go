// Package compare sets repeated runs side by side: of locks in one run, or of one run after
// another. A difference is claimed only with repeats, and only where chance does not explain it:
// see package stats.
package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/reports/compare/stats"
	"locklab/workloads/result"
)

// Sample is a figure of one cell: the median of its repeats, and the interval of that.
type Sample struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`
	values []float64
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
	Run    int // of the files that is compared with the first
	Figure result.Figure

	Before, After Sample
	Chance        float64 // of such a difference although nothing changed, over all tests
	Tested        bool    // both have repeats, and the same was asked of both
}

// Outcome is what is claimed of a difference.
type Outcome string

// The outcomes. Side by side: no difference is claimed.
const (
	Worse      Outcome = "worse"
	Better     Outcome = "better"
	Other      Outcome = "other"
	SideBySide Outcome = ""
)

// Outcome of the after to the before.
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

// Runs compares each further file with the first one, in some figures; without any named, in all
// that comparisons have. All tests count together.
func Runs(files []result.File, figures ...result.Figure) (all []Difference) {
	for i := 1; i < len(files); i++ {
		same := !slices.ContainsFunc(Mismatches(files[0].Run, files[i].Run), func(m Mismatch) bool { return m.Refuses })
		before := files[0].Cells()
		for _, after := range files[i].Cells() {
			if at := slices.IndexFunc(before, func(c result.Cell) bool { return c.Key == after.Key }); at >= 0 {
				ds := cells(&before[at], &after, figures)
				for n := range ds {
					ds[n].Run = i
					ds[n].Tested = ds[n].Tested && same
				}
				all = append(all, ds...)
			}
		}
	}
	return correct(all)
}

func cells(before, after *result.Cell, figures []result.Figure) (all []Difference) {
	if len(figures) == 0 {
		figures = slices.DeleteFunc(result.Figures(), func(f result.Figure) bool { return !f.Compare })
	}
	for _, f := range figures {
		a, had := sampleOf(before, f.Name)
		b, has := sampleOf(after, f.Name)
		if had && has {
			all = append(all, Difference{Key: after.Key, Figure: f, Before: a, After: b, Tested: a.N > 1 && b.N > 1})
		}
	}
	return all
}

// correct tests all together. A figure that is the same in all repeats is no test.
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

// Tests is how many tests there were, and the repeats of the sample that has the fewest.
func Tests(all []Difference) (tests, repeats int) {
	for i := range all {
		if d := &all[i]; d.Tested {
			if n := min(d.Before.N, d.After.N); tests == 0 || n < repeats {
				repeats = n
			}
			tests++
		}
	}
	return tests, repeats
}

// Apart are the further files that have no cell of the first one: nothing of them is compared.
func Apart(files []result.File) (indices []int) {
	have := map[result.Key]bool{}
	for i := range files {
		shared := i == 0
		for _, c := range files[i].Cells() {
			shared = shared || have[c.Key]
			if i == 0 {
				have[c.Key] = true
			}
		}
		if !shared {
			indices = append(indices, i)
		}
	}
	return indices
}

// Mismatch is what two runs differ in besides what is to be compared. Refuses says that another
// thing was asked of the locks, so that no difference means anything.
type Mismatch struct {
	What, Was, Is string
	Refuses       bool
}

// Mismatches of two runs.
func Mismatches(a, b result.Run) (all []Mismatch) {
	tell := func(refuses bool, what, was, is string) {
		if was != is {
			all = append(all, Mismatch{what, was, is, refuses})
		}
	}
	tell(true, "topology", a.Topology, b.Topology)
	was, is := settings(a.Load), settings(b.Load)
	for _, name := range both(was, is) {
		tell(true, name, was[name], is[name])
	}
	tell(false, "system", a.Host.OS+"/"+a.Host.Arch, b.Host.OS+"/"+b.Host.Arch)
	tell(false, "CPUs", fmt.Sprint(a.Host.CPUs, " x ", a.Host.CPUModel), fmt.Sprint(b.Host.CPUs, " x ", b.Host.CPUModel))
	tell(false, "Go", a.Host.Go, b.Host.Go)
	for _, name := range both(a.Versions, b.Versions) {
		tell(false, name, a.Versions[name], b.Versions[name])
	}
	return all
}

// settings reads name=value name=value.
func settings(load string) map[string]string {
	all := map[string]string{}
	for setting := range strings.FieldsSeq(load) {
		name, value, _ := strings.Cut(setting, "=")
		all[name] = value
	}
	return all
}

func both(a, b map[string]string) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
