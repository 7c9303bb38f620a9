package lab

import (
	"context"
	"math"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/reports/series"
	"locklab/workloads/check"
)

// Operations reads a history for the plots of a report, with the operations that the
// checker counts.
func Operations(ctx context.Context, path string) (series.History, error) {
	options := catalog.CheckOptions()
	options.Ops = true
	found, err := check.File(ctx, path, options)
	if err != nil {
		return series.History{}, err
	}
	h := series.History{DurationMS: ms(found.MeasuredNS), Incomplete: found.Incomplete, Ops: toOps(found.Ops), Usage: usageOver(found)}
	h.Scenes, err = series.Scenes(ctx, path, Moments(found, shownEach))
	return h, err
}

// usageOver is what the nodes used over time, to be drawn.
func usageOver(f *check.Findings) []series.Usage {
	var all []series.Usage
	for _, n := range f.Nodes {
		u := series.Usage{Node: n.Node, BinMS: float64(check.UsageLength.Milliseconds())}
		for _, b := range n.Over {
			bin := series.UsageBin{CPUs: math.NaN(), MemoryMiB: math.NaN(), BytesPerS: math.NaN()}
			if b.RanNS > 0 {
				bin.CPUs, bin.MemoryMiB = float64(b.CPUNS)/float64(b.RanNS), float64(b.MemoryBytes)/(1<<20)
			}
			if n.LinkedNS > 0 {
				bin.BytesPerS = float64(b.InBytes+b.OutBytes) / check.UsageLength.Seconds()
			}
			u.Bins = append(u.Bins, bin)
		}
		all = append(all, u)
	}
	return all
}

// shownEach is how many violations of each kind a report shows in detail.
const shownEach = 2
