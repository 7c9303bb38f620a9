package lab

import (
	"math"

	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/series"
	"locklab/workloads/check"
	"locklab/workloads/history"
)

// Moments are the violations that the checker shows, at most so many of each kind, with
// the faults that were in force.
func Moments(f *check.Findings, each int) []series.Moment {
	var moments []series.Moment
	seen := map[string]int{}
	for _, e := range f.Examples {
		if seen[e.What]++; seen[e.What] > each {
			continue
		}
		moments = append(moments, series.Moment{
			What: e.What, Resource: e.Resource, Text: e.Text, AtMS: float64(e.AtNS) / 1e6, Faults: InForce(f, e.AtNS),
		})
	}
	return moments
}

// InForce names the faults that had begun and not ended, since the measured part began.
func InForce(f *check.Findings, atNS int64) (names []sentence.Text) {
	for _, one := range f.Faults {
		if one.BeganNS != check.Never && one.BeganNS <= atNS && (one.EndedNS == check.Never || atNS < one.EndedNS) {
			names = append(names, sentence.Of("%s since %s ms", history.FaultText(one.Kind, one.Target), lang.Group(int64(math.Round(float64(one.BeganNS)/1e6)))))
		}
	}
	return names
}
