package liveness

import (
	"cmp"
	"slices"

	"locklab/workloads/check/record"
)

// union sorts spans, and joins those that touch, in their place.
func union(spans []record.Span) []record.Span {
	slices.SortFunc(spans, func(a, b record.Span) int { return cmp.Compare(a.From, b.From) })
	out := spans[:0]
	for _, s := range spans {
		switch last := len(out) - 1; {
		case s.From >= s.To:
		case last >= 0 && s.From <= out[last].To:
			out[last].To = max(out[last].To, s.To)
		default:
			out = append(out, s)
		}
	}
	return out
}

// without has what is left of spans outside of holes; both are sorted and do not touch.
func without(spans, holes []record.Span) []record.Span {
	out := make([]record.Span, 0, len(spans))
	for _, s := range spans {
		for len(holes) > 0 && holes[0].To <= s.From {
			holes = holes[1:]
		}
		for _, h := range holes {
			if h.From >= s.To {
				break
			}
			if h.From > s.From {
				out = append(out, record.Span{From: s.From, To: h.From})
			}
			s.From = h.To
		}
		if s.From < s.To {
			out = append(out, s)
		}
	}
	return out
}

// grants has the times of the grants, sorted.
func grants(acquires []record.Acquire) []int64 {
	times := make([]int64, 0, len(acquires))
	for i := range acquires {
		if acquires[i].Outcome == record.OK {
			times = append(times, acquires[i].At)
		}
	}
	slices.Sort(times)
	return times
}
