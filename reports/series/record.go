package series

import (
	"cmp"
	"math"
	"slices"

	"locklab/workloads/check/record"
)

// Read takes from a history what is drawn of it: the requests of players, or in raw workloads the
// acquisitions. What its caller called off is in neither.
func Read(run *record.Run) History {
	at := func(ns int64) float64 { return float64(ns-run.Measure) / 1e6 }
	h := History{DurationMS: max(at(run.Drain), 0), Usage: usage(run)}
	for i := range run.Requests {
		if q := &run.Requests[i]; q.Outcome != record.CalledOff {
			h.Ops = append(h.Ops, Op{DueMS: at(q.From), EndMS: at(q.At), OK: q.Outcome == record.OK, Count: uint64(q.Count)})
		}
	}
	if len(run.Requests) > 0 {
		return h
	}
	for i := range run.Acquires {
		if a := &run.Acquires[i]; a.Outcome != record.CalledOff {
			h.Ops = append(h.Ops, Op{DueMS: at(a.From), EndMS: at(a.At), OK: a.Outcome == record.OK})
		}
	}
	return h
}

// usageMS is the resolution of usage over time: that of its samples.
const usageMS = 1000.0

// usage puts every sample of a node into the bin in which most of it lies.
func usage(run *record.Run) (all []Usage) {
	bins := int(math.Ceil(float64(run.Drain-run.Measure) / 1e6 / usageMS))
	nodes := map[record.Name]int{}
	for _, s := range run.Usage {
		bin := int(math.Floor(float64((s.From+s.To)/2-run.Measure) / 1e6 / usageMS))
		if s.From >= s.To || bin < 0 || bin >= bins {
			continue
		}
		i, known := nodes[s.Node]
		if !known {
			i = len(all)
			nodes[s.Node] = i
			unknown := UsageBin{math.NaN(), math.NaN(), math.NaN()}
			all = append(all, Usage{Node: run.Text(s.Node), BinMS: usageMS, Bins: slices.Repeat([]UsageBin{unknown}, bins)})
		}
		b := &all[i].Bins[bin]
		seconds := float64(s.To-s.From) / 1e9
		if s.CPUNS != nil {
			b.CPUs = float64(*s.CPUNS) / 1e9 / seconds
		}
		if s.MemoryBytes != nil {
			b.MemoryMiB = float64(*s.MemoryBytes) / (1 << 20)
		}
		if s.InBytes != nil && s.OutBytes != nil {
			b.BytesPerS = float64(*s.InBytes+*s.OutBytes) / seconds
		}
	}
	slices.SortFunc(all, func(a, b Usage) int { return cmp.Compare(a.Node, b.Node) })
	return all
}
