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
	return series.Moment{What: e.What, Resource: e.Resource, Granted: e.Granted, Text: e.Text, AtMS: ms(e.AtNS), LastsMS: ms(e.LastsNS), Faults: Faults(f, e)}
}

// Faults names the faults of an example. Of what lasted it says for how much of it they were in
// force.
func Faults(f *check.Findings, e check.Example) (names []sentence.Text) {
	if e.LastsNS == 0 {
		return inForce(f, e.AtNS)
	}
	end := e.AtNS + e.LastsNS
	for _, one := range f.Faults {
		from, to := max(one.BeganNS, e.AtNS), end
		if one.EndedNS != check.Never {
			to = min(to, one.EndedNS)
		}
		name := history.FaultText(one.Kind, one.Target)
		switch {
		case one.BeganNS == check.Never || one.BeganNS >= end:
			names = append(names, asked(one, end-1)...)
		case to-from >= e.LastsNS:
			names = append(names, sentence.Of("%s in force all the while, since %s ms", name, inMS(one.BeganNS)))
		case from < to:
			names = append(names, sentence.Of("%s in force for %v of these %v, since %s ms", name, time.Duration(to-from), time.Duration(e.LastsNS), inMS(one.BeganNS)))
		default:
			names = append(names, justEnded(one, e.AtNS)...)
		}
	}
	return names
}

// inMS is a time of the measured part, in milliseconds.
func inMS(ns int64) string { return lang.Group(int64(math.Round(float64(ns) / 1e6))) }

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
			names = append(names, asked(one, atNS)...)
		case one.EndedNS == check.Never || atNS < one.EndedNS:
			names = append(names, sentence.Of("%s in force since %s ms", name, inMS(one.BeganNS)))
		default:
			names = append(names, justEnded(one, atNS)...)
		}
	}
	return names
}

// asked names a fault that was asked for by a moment, and proven later: what is hit by it while it
// begins is.
func asked(f check.Fault, atNS int64) []sentence.Text {
	if f.BeganNS == check.Never || f.AskedNS == check.Never || f.AskedNS > atNS {
		return nil
	}
	return []sentence.Text{sentence.Of("%s asked for at %s ms, and proven to be in force later", history.FaultText(f.Kind, f.Target), inMS(f.AskedNS))}
}

// justEnded names a fault that was over by a moment, if it only just was.
func justEnded(f check.Fault, atNS int64) []sentence.Text {
	name, ago := history.FaultText(f.Kind, f.Target), time.Duration(atNS-f.EndedNS)
	switch {
	case ago >= justBefore:
		return nil
	case ago < time.Millisecond:
		return []sentence.Text{sentence.Of("%s ended less than 1 ms before", name)}
	}
	return []sentence.Text{sentence.Of("%s ended %v before", name, ago.Round(time.Millisecond))}
}
