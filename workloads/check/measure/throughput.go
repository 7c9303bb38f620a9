package measure

import (
	"cmp"
	"slices"
	"time"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// throughput is how requests fared at each rate that was tried, and the highest that passed.
func (m *Measures) throughput(r *record.Run) {
	for _, c := range r.Capacities {
		if c.State != history.CapacityMatches {
			continue
		}
		var took, late dist
		due, ok := uint32(0), uint32(0)
		for i := range r.Requests {
			q := &r.Requests[i]
			if q.From < c.Sent || q.From >= c.At {
				continue
			}
			if due += q.Count; q.Sent > 0 {
				late.add(q.Sent - q.From)
			}
			if q.Outcome == record.OK {
				ok += q.Count
				took.add(q.At - q.From)
			}
		}
		if due == 0 {
			continue
		}
		p := result.Point{RatePerS: float64(due) / time.Duration(c.At-c.Sent).Seconds(), P99MS: ms(took.quantile(0.99))}
		p.Late = late.quantile(0.99) >= int64(history.MatchesLate)
		if p.OK = ok == due && p.P99MS < ms(int64(history.MatchesP99)) && !p.Late; p.OK {
			m.Figures["matches_per_s"] = max(m.Figures["matches_per_s"], p.RatePerS)
		}
		m.Curve = append(m.Curve, p)
	}
	slices.SortFunc(m.Curve, func(a, b result.Point) int { return cmp.Compare(a.RatePerS, b.RatePerS) })
}
