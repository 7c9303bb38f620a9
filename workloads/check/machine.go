package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"locklab/internal/sentence"
	"locklab/workloads/history"
)

// MaxSlowdown is how many times longer than on an idle machine the work of the lab's
// processes may take: CPU time and waiting for a CPU, against CPU time alone. Work that
// comes at random is slowed down 10 times by two CPUs that are busy for 95 % of the time
// (1/(1-0.95²) in the M/M/2 queue), by one at 90 %; from there every further per cent
// counts twice, and a figure says how full the machine was, not how good the lock is.
const MaxSlowdown = 10

// MaxOwnShare is the share of all CPUs that the lab's processes may use themselves. With
// more there is no CPU that could be free when a message comes, and what is measured is
// how much work the machine can do. It is the load at which one CPU slows work down
// MaxSlowdown times.
const MaxOwnShare = 0.9

// maxLate is how late a timer may go off at most: half of what counts as a stall. A
// process that stands still for longer can be the greater part of a stall, or of a
// timeout that a lock has to meet.
func (c *Checker) maxLate() time.Duration { return min(c.stall, longStall) / 2 }

// HostLoad is what the CPUs of one machine did in the measured part, over all repeats.
type HostLoad struct {
	// Host is empty for the controller's machine, which also carries all hosts that are
	// not listed.
	Host string
	Sum  history.Machine // its LateNS is the longest
	// SpanNS is the time that Sum is about.
	SpanNS int64
	// BusyMax is the share of the busiest second, -1 if it is not known.
	BusyMax float64
	// Saturated says that the lab's processes got too little of the machine.
	Saturated bool
	// SlowDisk says that a page took longer to be safe than a timer may be late, in a run whose
	// lock waits for disks.
	SlowDisk bool
}

// Busy is the share of the time in which its CPUs were busy, 0 to 1; false if the
// machine does not tell.
func (h HostLoad) Busy() (float64, bool) { return atMostAll(h.share(h.Sum.BusyNS, h.Sum.CPUs)) }

// Others is the share of all CPUs that was busy with anything but the lab's processes.
func (h HostLoad) Others() (float64, bool) {
	busy, told := h.share(h.Sum.BusyNS, h.Sum.CPUs)
	own, counted := h.share(h.Sum.RunNS, h.Sum.CPUs)
	return max(busy-own, 0), told && counted
}

// Pressure is the share of the time in which some process waited for a CPU.
func (h HostLoad) Pressure() (float64, bool) { return atMostAll(h.share(h.Sum.PressureNS, 1)) }

// Throttled is the number of CPUs that a quota kept from the lab, on average.
func (h HostLoad) Throttled() (float64, bool) { return h.share(h.Sum.ThrottledNS, 1) }

func (h HostLoad) share(ns *int64, of int) (float64, bool) {
	if ns == nil || h.SpanNS == 0 || of == 0 {
		return 0, false
	}
	return float64(*ns) / float64(h.SpanNS) / float64(of), true
}

// atMostAll takes away what a share is above 1 because the kernel counts in ticks.
func atMostAll(share float64, known bool) (float64, bool) { return min(share, 1), known }

// Slowdown is how many times longer than on an idle machine the work of the lab's
// processes took; false if the machine does not tell. What a quota took away counts as
// waiting, and so does what a hypervisor took, by the lab's share of what had a CPU.
func (h HostLoad) Slowdown() (float64, bool) {
	if h.Sum.RunNS == nil || h.Sum.WaitNS == nil || *h.Sum.RunNS == 0 {
		return 0, false
	}
	waited := *h.Sum.WaitNS
	if h.Sum.ThrottledNS != nil {
		waited += *h.Sum.ThrottledNS
	}
	return 1 + (float64(waited)+h.stolen())/float64(*h.Sum.RunNS), true
}

// stolen is what a hypervisor took from the lab's processes.
func (h HostLoad) stolen() float64 {
	if h.Sum.StolenNS == nil || h.Sum.BusyNS == nil || *h.Sum.StolenNS == 0 {
		return 0
	}
	had := max(*h.Sum.BusyNS-*h.Sum.StolenNS, *h.Sum.RunNS) // by whoever had a CPU
	return float64(*h.Sum.StolenNS) * float64(*h.Sum.RunNS) / float64(had)
}

// machineEvent is a sample of one machine.
type machineEvent struct {
	host string
	span
	history.Machine
}

// second is what the busiest stretch is looked for by.
const second = int64(time.Second)

// checkMachines adds up what the machines did in the measured part, and says which of
// them were saturated.
func (c *Checker) checkMachines(f *Findings, t timeline) {
	measured := span{t.measure, t.drain}
	byHost := map[string][]machineEvent{}
	for _, m := range c.machines {
		if m.meets(measured) {
			byHost[m.host] = append(byHost[m.host], m)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		samples := byHost[host]
		slices.SortFunc(samples, func(a, b machineEvent) int { return cmp.Compare(a.from, b.from) })
		h := HostLoad{Host: host, BusyMax: busiest(samples)}
		for _, m := range samples {
			h.add(m.within(measured))
		}
		h.SlowDisk = !c.run.NoDisk && h.Sum.FsyncNS != nil && *h.Sum.FsyncNS > int64(c.maxLate())
		if why := h.saturation(c.maxLate()); !why.IsZero() {
			h.Saturated = true
			f.Saturated = append(f.Saturated, why)
		}
		f.Hosts = append(f.Hosts, h)
	}
}

// within is the part of a sample that lies in a span, as if it had been even.
func (m machineEvent) within(o span) machineEvent {
	part := span{max(m.from, o.from), min(m.to, o.to)}
	share := float64(part.to-part.from) / float64(m.to-m.from)
	for _, ns := range []**int64{&m.BusyNS, &m.StolenNS, &m.PressureNS, &m.ThrottledNS, &m.RunNS, &m.WaitNS} {
		if *ns != nil {
			v := int64(float64(**ns) * share)
			*ns = &v
		}
	}
	m.span = part
	return m
}

func (h *HostLoad) add(m machineEvent) {
	first := h.SpanNS == 0
	h.SpanNS += m.to - m.from
	h.Sum = sum(h.Sum, m.Machine, first)
}

// sum adds b to a; what one of them does not have is not known of both.
func sum(a, b history.Machine, first bool) history.Machine {
	if first {
		return b
	}
	plus := func(x, y *int64) *int64 {
		if x == nil || y == nil {
			return nil
		}
		v := *x + *y
		return &v
	}
	return history.Machine{
		CPUs: max(a.CPUs, b.CPUs), BusyNS: plus(a.BusyNS, b.BusyNS), StolenNS: plus(a.StolenNS, b.StolenNS), PressureNS: plus(a.PressureNS, b.PressureNS),
		ThrottledNS: plus(a.ThrottledNS, b.ThrottledNS), RunNS: plus(a.RunNS, b.RunNS), WaitNS: plus(a.WaitNS, b.WaitNS),
		LateNS: max(a.LateNS, b.LateNS), FsyncNS: longer(a.FsyncNS, b.FsyncNS),
	}
}

// longer is the greater of two times; what is not known is not greater.
func longer(x, y *int64) *int64 {
	if x == nil || y != nil && *y > *x {
		return y
	}
	return x
}

// busiest is the highest share of busy CPUs in samples that follow each other for a
// second, or in all of them if they are shorter; -1 if it is not known.
func busiest(samples []machineEvent) float64 {
	most := -1.0
	for i := range samples {
		h := HostLoad{}
		for _, m := range samples[i:] {
			if h.add(m); h.SpanNS >= second {
				break
			}
		}
		if busy, known := h.Busy(); known && (h.SpanNS >= second || i == 0) {
			most = max(most, busy)
		}
	}
	return most
}

// saturation says why the lab's processes got too little of the machine, if they did.
func (h HostLoad) saturation(maxLate time.Duration) sentence.Text {
	slowdown, known := h.Slowdown()
	own, _ := h.share(h.Sum.RunNS, h.Sum.CPUs)
	late := time.Duration(h.Sum.LateNS)
	var why sentence.Text
	switch {
	case own > MaxOwnShare:
		why = sentence.Of("the lab's own processes alone used %.0f %% of them (want at most %.0f %%)", 100*own, 100*MaxOwnShare)
	case known && slowdown > MaxSlowdown && h.couldNotRun():
		why = sentence.Of("with the waiting for a CPU, the work of the lab's processes took %.1f times as long as on an idle machine (want at most %d)",
			slowdown, MaxSlowdown)
	case late > maxLate:
		why = sentence.Of("a timer went off %v too late (want at most %v, half of what counts as a stall)",
			late, maxLate)
	default:
		return why
	}
	if busy, known := h.Busy(); known {
		return sentence.Of("%s was saturated: its CPUs were busy for %.0f %% of the time, and %s", machineName(h.Host), 100*busy, why)
	}
	return sentence.Of("%s was saturated: %s", machineName(h.Host), why)
}

// fullMachine says which machine may have made a lock slow that would have been fast
// enough elsewhere, by its CPUs or by its disk, if any. It takes less than saturation
// does: as expected on a full machine is as expected, but what was too slow there proves
// nothing against the lock.
func (f *Findings) fullMachine() sentence.Text {
	const full, slow = 0.95, 2 // hardly ever a free CPU, and more waiting for one than running
	for _, h := range f.Hosts {
		busy, _ := h.Busy()
		slowdown, _ := h.Slowdown()
		switch {
		case slowdown <= slow:
		case busy > full:
			return sentence.Of("the CPUs of %s were busy for %.0f %% of the time, and the lab's processes waited longer for one than they ran", machineName(h.Host), 100*busy)
		case h.BusyMax > full: // a stall needs no more than one such second
			return sentence.Of("the CPUs of %s were busy for %.0f %% of a second, and the lab's processes waited longer for one than they ran", machineName(h.Host), 100*h.BusyMax)
		}
		if h.SlowDisk {
			return sentence.Of("a page took %v to be safe on the disk of %s", time.Duration(*h.Sum.FsyncNS), machineName(h.Host))
		}
	}
	return sentence.Text{}
}

// couldNotRun says whether waiting meant that there was no CPU to be had: hardly any was
// free, or a quota kept them away. Processes that hardly run, such as a Redis beside many
// others, wait for longer than they run whenever a few wake at once.
func (h HostLoad) couldNotRun() bool {
	busy, known := h.Busy()
	throttled, _ := h.Throttled()
	return !known || busy > MaxOwnShare || throttled > 0.1
}

func machineName(host string) sentence.Text {
	if host == "" {
		return sentence.Of("the controller's machine")
	}
	return sentence.Of("the machine of host %s", brief(host))
}

// mergeHosts adds up the machines of all repeats, by name.
func mergeHosts(repeats []*Findings) []HostLoad {
	var merged []HostLoad
	for _, f := range repeats {
		for _, h := range f.Hosts {
			i := slices.IndexFunc(merged, func(m HostLoad) bool { return m.Host == h.Host })
			if i < 0 {
				merged = append(merged, h)
				continue
			}
			m := &merged[i]
			m.Sum, m.SpanNS = sum(m.Sum, h.Sum, false), m.SpanNS+h.SpanNS
			m.BusyMax, m.Saturated, m.SlowDisk = max(m.BusyMax, h.BusyMax), m.Saturated || h.Saturated, m.SlowDisk || h.SlowDisk
		}
	}
	return merged
}
