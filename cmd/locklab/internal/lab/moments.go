package lab

import (
	"math"
	"time"

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

// justBefore is how long after its end a fault may still be what a violation comes from: clients
// act on what they believed while it lasted.
const justBefore = time.Second

// InForce names the faults that had begun and not ended, or only just ended, since the measured
// part began.
func InForce(f *check.Findings, atNS int64) (names []sentence.Text) {
	for _, one := range f.Faults {
		name := history.FaultText(one.Kind, one.Target)
		switch {
		case one.BeganNS == check.Never || one.BeganNS > atNS:
		case one.EndedNS == check.Never || atNS < one.EndedNS:
			names = append(names, sentence.Of("%s in force since %s ms", name, lang.Group(int64(math.Round(float64(one.BeganNS)/1e6)))))
		case atNS-one.EndedNS < int64(justBefore):
			names = append(names, sentence.Of("%s ended %v before", name, time.Duration(atNS-one.EndedNS).Round(time.Millisecond)))
		}
	}
	return names
}
