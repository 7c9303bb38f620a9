package sound

import (
	"cmp"
	"maps"
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
	offered, measured := j.Head.Workload == history.Matchmaking, j.Drain-j.Measure
	f := flaw{code: result.LateLoad, deadStands: true}
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
	f.deadStands = !offered
	var due, sent float64
	var took []int64
	lateness := make([]int64, 0, len(j.Requests)+len(j.Acquires))
	last := j.Measure // operation that was due, and in raw workloads was answered or held on
	for o := range j.Due(offered) {
		last = max(last, o.From)
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
	for _, a := range j.Acquires {
		if !offered && a.Granted() {
			last = max(last, a.Until)
		} else if !offered {
			last = max(last, a.At)
		}
	}
	// Parties of a few arrive together, which doubles the standard deviation. Clients of closed loops
	// ask again at once; of 60 requests in the rest of the time one had come but for one run in millions.
	planned, rest := j.Offered(j.Measure), j.Offered(last)
	if least := planned - 10*math.Sqrt(planned); offered && due < least {
		f.Add("%.0f of %.0f requests", due, planned)
	}
	if quiet := j.Drain - last; last > j.Measure && quiet > j.limit(250*time.Millisecond) &&
		(j.Head.OfferedPS == 0 || rest > 60) {
		f.Add("no client asked in the last %v", time.Duration(quiet).Round(time.Millisecond))
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

const (
	// maxSlowdown is how many times longer than on an idle machine the work of the lab's
	// processes may take. Two CPUs that are busy for 95 % of the time do that to work that comes
	// at random (1/(1-0.95²) in the M/M/2 queue), and from there each further per cent counts
	// twice: a figure says how full the machine was, not how good the lock is.
	maxSlowdown = 10
	// maxOwn is the share of all CPUs that the lab's processes may use themselves: with more,
	// none is free when a message comes.
	maxOwn = 0.9
)

// load is the sum of samples of one machine. What a system does not tell is 0.
type load struct {
	busy, stolen, throttled, run, wait, span float64
	cpus                                     int
	late, fsync                              int64
}

// machines adds up what the machines did in the measured part, and notes the saturated ones: CPUs or disk.
func (j *judge) machines(f *flaw) (list []result.Machine) {
	hosts := map[string]*load{}
	for i := range j.Machines {
		m := &j.Machines[i]
		if part := min(m.AtNS, j.Drain) - max(m.FromNS, j.Measure); part > 0 {
			if hosts[m.Host] == nil {
				hosts[m.Host] = &load{}
			}
			hosts[m.Host].add(m, float64(part))
		}
	}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		l := hosts[host]
		all := l.span * float64(max(l.cpus, 1))
		m := result.Machine{
			Host: host, CPUs: l.cpus, Busy: min(l.busy/all, 1), // the kernel counts in ticks
			LateMS: float64(l.late) / 1e6, FsyncMS: float64(l.fsync) / 1e6,
		}
		m.Others = max(m.Busy-l.run/all, 0)
		if l.run > 0 {
			// Of what a hypervisor took away, the lab waited for its share of what had a CPU.
			m.Slowdown = 1 + (l.wait+l.throttled)/l.run + l.stolen/max(l.busy-l.stolen, l.run)
		}
		list = append(list, m)
		// Processes that hardly run wait for longer than they run whenever a few wake at once:
		// waiting counts where hardly a CPU was free, or a quota kept them away.
		full := m.Busy == 0 || m.Busy > maxOwn || l.throttled > 0.1*l.span
		if l.run/all > maxOwn || m.Slowdown > maxSlowdown && full || max(l.late, l.fsync) > j.limit(time.Second)/2 {
			f.Add("%s", cmp.Or(host, history.TargetController))
		}
	}
	return list
}

// add adds the part of a sample that lies in the measured part, as if it had been even.
func (l *load) add(e *history.Event, part float64) {
	of := func(ns int64) float64 { return float64(ns) * part / float64(e.AtNS-e.FromNS) }
	m := e.Machine
	l.busy, l.stolen, l.throttled = l.busy+of(m.BusyNS), l.stolen+of(m.StolenNS), l.throttled+of(m.ThrottledNS)
	l.run, l.wait, l.span = l.run+of(m.RunNS), l.wait+of(m.WaitNS), l.span+part
	l.cpus, l.late, l.fsync = max(l.cpus, m.CPUs), max(l.late, m.LateNS), max(l.fsync, m.FsyncNS)
}
