package sound

import (
	"cmp"
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

// load is the sum of samples of one machine.
type load struct {
	history.Machine
	span int64
}

// machines adds up what the machines did in the measured part, and notes the saturated ones.
func (j *judge) machines(f *flaw) []result.Machine {
	samples := slices.Clone(j.Machines)
	slices.SortStableFunc(samples, func(a, b record.Machine) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.From, b.From)) })
	list := []result.Machine{}
	for len(samples) > 0 {
		host, sum := samples[0].Host, load{}
		for len(samples) > 0 && samples[0].Host == host {
			if samples[0].From < j.Drain && samples[0].To > j.Measure {
				sum.add(&samples[0], record.Span{From: j.Measure, To: j.Drain})
			}
			samples = samples[1:]
		}
		if sum.span == 0 {
			continue
		}
		m := sum.told(host)
		list = append(list, m)
		own := share(sum.RunNS, sum.span, sum.CPUs)
		// Processes that hardly run wait for longer than they run whenever a few wake at once:
		// waiting counts where hardly a CPU was free, or a quota kept them away.
		full := sum.BusyNS == nil || m.Busy > maxOwn || share(sum.ThrottledNS, sum.span, 1) > 0.1
		if own > maxOwn || m.Slowdown > maxSlowdown && full || sum.LateNS > j.limit(time.Second)/2 {
			f.find(always, "%s", cmp.Or(host, history.TargetController))
		}
	}
	return list
}

// add adds the part of a sample that lies in a span, as if it had been even. A value that one
// of them does not have is not known of both.
func (l *load) add(m *record.Machine, in record.Span) {
	part := min(m.To, in.To) - max(m.From, in.From)
	first := l.span == 0
	for _, ns := range []struct {
		sum **int64
		of  *int64
	}{{&l.BusyNS, m.BusyNS}, {&l.StolenNS, m.StolenNS}, {&l.ThrottledNS, m.ThrottledNS}, {&l.RunNS, m.RunNS}, {&l.WaitNS, m.WaitNS}} {
		if ns.of == nil || !first && *ns.sum == nil {
			*ns.sum = nil
			continue
		}
		v := int64(float64(*ns.of) * float64(part) / float64(m.Len()))
		if !first {
			v += **ns.sum
		}
		*ns.sum = &v
	}
	l.span += part
	l.CPUs, l.LateNS = max(l.CPUs, m.CPUs), max(l.LateNS, m.LateNS)
	if m.FsyncNS != nil && (l.FsyncNS == nil || *m.FsyncNS > *l.FsyncNS) {
		l.FsyncNS = m.FsyncNS
	}
}

func (l *load) told(host string) result.Machine {
	m := result.Machine{Host: host, CPUs: l.CPUs, Busy: min(share(l.BusyNS, l.span, l.CPUs), 1), LateMS: float64(l.LateNS) / 1e6} // the kernel counts in ticks
	if l.RunNS != nil {
		m.Others = max(m.Busy-share(l.RunNS, l.span, l.CPUs), 0)
	}
	if l.FsyncNS != nil {
		m.FsyncMS = float64(*l.FsyncNS) / 1e6
	}
	if l.RunNS != nil && l.WaitNS != nil && *l.RunNS > 0 {
		m.Slowdown = 1 + (float64(*l.WaitNS)+value(l.ThrottledNS)+l.stolen())/float64(*l.RunNS)
	}
	return m
}

// stolen is what a hypervisor took from the lab's processes, by their share of what had a CPU.
func (l *load) stolen() float64 {
	if value(l.StolenNS) == 0 || l.BusyNS == nil {
		return 0
	}
	had := max(*l.BusyNS-*l.StolenNS, *l.RunNS)
	return float64(*l.StolenNS) * float64(*l.RunNS) / float64(had)
}

func value(ns *int64) float64 {
	if ns == nil {
		return 0
	}
	return float64(*ns)
}

// share is 0 where it is not known.
func share(ns *int64, span int64, cpus int) float64 {
	if cpus == 0 {
		return 0
	}
	return value(ns) / float64(span) / float64(cpus)
}
