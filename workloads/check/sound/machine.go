package sound

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

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

// machines adds up what the machines did in the measured part, and notes the saturated ones.
func (j *judge) machines(f *flaw) (list []result.Machine) {
	hosts := map[string]*load{}
	for i := range j.Machines {
		m := &j.Machines[i]
		if part := min(m.To, j.Drain) - max(m.From, j.Measure); part > 0 {
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
		if l.run/all > maxOwn || m.Slowdown > maxSlowdown && full || l.late > j.limit(time.Second)/2 {
			f.Add("%s", cmp.Or(host, history.TargetController))
		}
	}
	return list
}

// add adds the part of a sample that lies in the measured part, as if it had been even.
func (l *load) add(m *record.Machine, part float64) {
	of := func(ns *int64) float64 {
		if ns == nil {
			return 0
		}
		return float64(*ns) * part / float64(m.Len())
	}
	l.busy, l.stolen, l.throttled = l.busy+of(m.BusyNS), l.stolen+of(m.StolenNS), l.throttled+of(m.ThrottledNS)
	l.run, l.wait, l.span = l.run+of(m.RunNS), l.wait+of(m.WaitNS), l.span+part
	l.cpus, l.late = max(l.cpus, m.CPUs), max(l.late, m.LateNS)
	if m.FsyncNS != nil {
		l.fsync = max(l.fsync, *m.FsyncNS)
	}
}
