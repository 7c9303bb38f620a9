package series

import (
	"cmp"
	"math"
	"slices"
)

// Usage is what one node used over time.
type Usage struct {
	Node  string
	BinMS float64 // the bins follow each other from the beginning of the measured part
	Bins  []UsageBin
}

// UsageBin is one piece of that time. What is not known is NaN.
type UsageBin struct {
	CPUs      float64 // how many it used at once, on average
	MemoryMiB float64
	BytesPerS float64 // through links, both ways together
}

// usageOf lays the repeats over each other: means of what is known, by node.
func usageOf(histories []History) []Usage {
	var all []Usage
	found := map[string][]Usage{}
	for _, h := range histories {
		for _, u := range h.Usage {
			found[u.Node] = append(found[u.Node], u)
		}
	}
	for node, repeats := range found {
		mean := Usage{Node: node, BinMS: repeats[0].BinMS}
		longest := slices.MaxFunc(repeats, func(a, b Usage) int { return cmp.Compare(len(a.Bins), len(b.Bins)) })
		for i := range longest.Bins {
			var bin UsageBin
			for _, field := range []func(*UsageBin) *float64{
				func(b *UsageBin) *float64 { return &b.CPUs },
				func(b *UsageBin) *float64 { return &b.MemoryMiB },
				func(b *UsageBin) *float64 { return &b.BytesPerS },
			} {
				sum, n := 0.0, 0.0
				for _, u := range repeats {
					if i < len(u.Bins) && !math.IsNaN(*field(&u.Bins[i])) {
						sum, n = sum+*field(&u.Bins[i]), n+1
					}
				}
				*field(&bin) = sum / n // NaN without any
			}
			mean.Bins = append(mean.Bins, bin)
		}
		all = append(all, mean)
	}
	slices.SortFunc(all, func(a, b Usage) int { return cmp.Compare(a.Node, b.Node) })
	return all
}
