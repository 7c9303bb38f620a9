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

// Moments are the violations that the checker shows, at most so many of each kind, and then its
// outages, with the faults that were in force.
func Moments(f *check.Findings, each int) []series.Moment {
	var moments []series.Moment
	seen := map[string]int{}
	for _, e := range f.Examples {
		if seen[e.What]++; seen[e.What] > each {
			continue
		}
		moments = append(moments, momentOf(f, e))
	}
	for _, e := range f.Outages {
		moments = append(moments, momentOf(f, e))
	}
	return moments
}

func momentOf(f *check.Findings, e check.Example) series.Moment {
	return series.Moment{What: e.What, Resource: e.Resource, Text: e.Text, AtMS: ms(e.AtNS), LastsMS: ms(e.LastsNS), Faults: Faults(f, e)}
}

// Faults names the faults of an example: those of its beginning or, of an outage that a fault
// did not begin before, those of its end.
func Faults(f *check.Findings, e check.Example) []sentence.Text {
	if names := inForce(f, e.AtNS); len(names) > 0 || e.LastsNS == 0 {
		return names
	}
	return inForce(f, e.AtNS+e.LastsNS)
}

// justBefore is how long after its end a fault may still be what a violation comes from: clients
// act on what they believed while it lasted.
const justBefore = time.Second

// inForce names the faults that had begun and not ended, or only just ended, since the measured
// part began.
func inForce(f *check.Findings, atNS int64) (names []sentence.Text) {
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
