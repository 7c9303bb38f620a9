package sound

import (
	"math"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/loadgen"
	"locklab/workloads/result"
)

// late says that the load was not offered in time, or ended before the run was to. Requests of
// players are offered by the controller; elsewhere clients of the masters acquire, which a dead
// lock keeps busy.
func (j *judge) late() flaw {
	f := flaw{code: result.LateLoad, deadStands: true}
	measured := j.Drain - j.Measure
	switch {
	case j.Torn:
		f.Add("the history ends in a torn line")
	case !j.Ended:
		f.Add("the history has no end")
	case !j.Head.Played && measured < j.Head.DurationNS-int64(time.Millisecond):
		f.Add("ended after %.1f s of %.1f s", time.Duration(measured).Seconds(), time.Duration(j.Head.DurationNS).Seconds())
	}
	if f.N > 0 {
		return f
	}
	offered := j.Head.Workload == history.Matchmaking
	f.deadStands = !offered
	var due, sent float64
	var took []int64
	lateness := make([]int64, 0, len(j.Requests)+len(j.Acquires))
	for o := range j.Due(offered) {
		if due += float64(o.Count); o.Outcome == record.Unsent {
			continue
		}
		sent += float64(o.Count)
		if o.Sent > 0 {
			lateness = append(lateness, o.Sent-o.From)
		}
		if offered && o.Outcome == record.OK {
			took = append(took, o.At-o.From)
		}
	}
	busy := j.Measure // a client, at least until then
	for i := range j.Acquires {
		if a := &j.Acquires[i]; a.Granted() {
			busy = max(busy, a.Until)
		} else {
			busy = max(busy, a.At)
		}
	}
	if quiet := j.Drain - busy; !offered && busy > j.Measure && quiet > j.limit(2*time.Second) {
		f.Add("no client asked in the last %v", time.Duration(quiet).Round(time.Millisecond))
	}
	// Parties of a few arrive together, which doubles the standard deviation.
	planned := j.Offered()
	if least := planned - 10*math.Sqrt(planned); offered && due < least {
		f.Add("%.0f of %.0f requests", due, planned)
	}
	if sent < loadgen.MinSent*due {
		f.Add("%.0f of %.0f operations sent", sent, due)
	}
	if p99 := quantile(lateness, 0.99); p99 > int64(loadgen.MaxLateness) {
		f.Add("p99 late by %v", time.Duration(p99).Round(time.Millisecond))
	}
	if p50 := quantile(lateness, 0.5); len(took) > 0 && p50 > quantile(took, 0.5)/2 {
		f.Add("half of the requests late by %v", time.Duration(p50).Round(time.Millisecond))
	}
	return f
}

// quantile is that of some numbers, 0 of none; it sorts them.
func quantile(list []int64, q float64) int64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[int(math.Ceil(q*float64(len(list))))-1]
}
