package suite

import (
	"slices"

	"locklab/reports/result"
)

// Decide says what the rows make of each claim. A row that is not there, or that could not
// decide, shows nothing and refutes nothing.
func Decide(claims []Claim, rows []result.Row) []result.Claim {
	var all []result.Claim
	for _, c := range claims {
		decided := result.Claim{Claim: c.Claim, Source: c.Source}
		count := map[string]int{}
		for _, cell := range c.Cells {
			e := result.Evidence{Lock: cell.Lock, Scenario: cell.Scenario, Workload: cell.Workload, Wanted: cell.Shows, Verdict: result.ClaimUndecided}
			i := slices.IndexFunc(rows, func(r result.Row) bool {
				return r.Lock == cell.Lock && r.Scenario == cell.Scenario && r.Workload == cell.Workload
			})
			if i >= 0 {
				e.Verdict = cell.verdict(rows[i])
			}
			count[e.Verdict]++
			decided.Evidence = append(decided.Evidence, e)
		}
		decided.Verdict = overall(count)
		all = append(all, decided)
	}
	return all
}

// overall is shown or refuted where all rows say so; where some show it and others do not,
// the claim holds only under these.
func overall(count map[string]int) string {
	shown, refuted, undecided := count[result.ClaimShown], count[result.ClaimRefuted], count[result.ClaimUndecided]
	switch {
	case refuted == 0 && undecided == 0:
		return result.ClaimShown
	case shown == 0 && undecided == 0:
		return result.ClaimRefuted
	case shown > 0 && refuted > 0:
		return result.ClaimPartly
	default:
		return result.ClaimUndecided
	}
}

// verdict is what one row says. A violation that was seen in a run that decides nothing
// may have another cause.
func (c Cell) verdict(r result.Row) string {
	v := r.Verdict
	seen := v.Liveness
	if slices.Contains([]string{result.Safe, result.Unsafe}, c.Shows[0]) {
		if seen = v.Safety; seen == result.SafetyNotJudged { // and no violation was seen
			seen = result.Safe
		}
	}
	switch {
	case v.Status == result.StatusInconclusive || r.Partial:
		return result.ClaimUndecided
	case slices.Contains(c.Shows, seen):
		return result.ClaimShown
	default:
		return result.ClaimRefuted
	}
}
