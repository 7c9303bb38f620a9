package suite

import (
	"slices"

	"locklab/reports/result"
)

// Decide says what the rows make of each claim. A row that is not there shows nothing and
// refutes nothing, and so does one that could not decide; the two are told apart.
func Decide(claims []Claim, rows []result.Row) []result.Claim {
	var all []result.Claim
	for _, c := range claims {
		decided := result.Claim{Claim: c.Claim, Source: c.Source}
		count := map[string]int{}
		for _, cell := range c.Cells {
			e := result.Evidence{Lock: cell.Lock, Scenario: cell.Scenario, Workload: cell.Workload, Wanted: cell.Shows, Verdict: result.ClaimNotRun}
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
	shown, refuted, absent := count[result.ClaimShown], count[result.ClaimRefuted], count[result.ClaimNotRun]
	undecided := absent + count[result.ClaimUndecided]
	switch {
	case shown+refuted == 0 && undecided == absent:
		return result.ClaimNotRun
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
// may have another cause; and what was down for a short fault may as well have stalled.
func (c Cell) verdict(r result.Row) string {
	v := r.Verdict
	decided := func(shown bool) string {
		if shown {
			return result.ClaimShown
		}
		return result.ClaimRefuted
	}
	if v.Undecided() || r.Partial {
		return result.ClaimUndecided
	}
	if c.Figure != nil {
		figure := c.Figure.Figure()
		if _, measured := figure.Of(r); !measured {
			return result.ClaimUndecided
		}
		return decided(c.Figure.Crossed(r))
	}
	if slices.Contains([]string{result.Safe, result.Unsafe}, c.Shows[0]) {
		if v.Safety == result.SafetyNotJudged {
			return result.ClaimUndecided
		}
		return decided(slices.Contains(c.Shows, v.Safety))
	}
	if v.Liveness == result.LivenessNotJudged {
		return result.ClaimUndecided
	}
	shown := slices.Contains(c.Shows, v.Liveness)
	if v.ShortFault && shown != slices.Contains(c.Shows, "stalls") {
		return result.ClaimUndecided
	}
	return decided(shown)
}
