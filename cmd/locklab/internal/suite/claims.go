package suite

import (
	"slices"

	"locklab/workloads/result"
)

// Decide says what the rows make of each claim. A missing row shows and refutes nothing, and neither does an undecided
// one; the two are told apart.
func Decide(claims []Claim, f result.File) []result.Claim {
	cells := f.Cells()
	var all []result.Claim
	for _, c := range claims {
		decided := result.Claim{Claim: c.Claim, Source: c.Source}
		count := map[string]int{}
		for _, cell := range c.Cells {
			e := result.Evidence{Key: cell.Key, Wanted: cell.Shows, Verdict: result.ClaimNotRun}
			if i := slices.IndexFunc(cells, func(c result.Cell) bool { return c.Key == cell.Key }); i >= 0 {
				e.Verdict = cell.verdict(cells[i])
				e.Shown, e.Tries = cell.tried(cells[i])
			}
			count[e.Verdict]++
			decided.Evidence = append(decided.Evidence, e)
		}
		decided.Verdict = overall(count)
		all = append(all, decided)
	}
	return all
}

// tried counts the repeats that show it, and those that decide.
func (c Cell) tried(all result.Cell) (shown, tries int) {
	for _, row := range all.Rows {
		switch c.verdict(result.Cell{Key: all.Key, Rows: []*result.Row{row}}) {
		case result.ClaimShown:
			shown++
			tries++
		case result.ClaimRefuted:
			tries++
		}
	}
	return shown, tries
}

// overall is shown or refuted where all rows say so. If only some show it, the claim holds only under these.
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

// verdict is that of all repeats: of a figure the median, unsafe if any was, the liveness that all have. Undecided
// repeats are left out.
func (c Cell) verdict(all result.Cell) string {
	all.Rows = slices.DeleteFunc(slices.Clone(all.Rows), func(r *result.Row) bool { return !r.Decided() || r.Partial })
	if len(all.Rows) == 0 {
		return result.ClaimUndecided
	}
	if c.Figure != nil {
		if c.Figure.Missing(all.Rows...) {
			return result.ClaimUndecided
		}
		return decided(c.Figure.Crossed(all.Rows...))
	}
	if c.Shows[0] == result.Safe || c.Shows[0] == result.Unsafe {
		some := func(state result.State) bool {
			return slices.ContainsFunc(all.Rows, func(r *result.Row) bool { return r.Verdict.Safety.State == state })
		}
		unsafe := some(result.Failed)
		if !unsafe && some(result.Unknown) {
			return result.ClaimUndecided
		}
		return decided(unsafe == slices.Contains(c.Shows, result.Unsafe))
	}
	shown := 0
	for _, r := range all.Rows {
		if r.Verdict.Word == result.NotJudged {
			return result.ClaimUndecided
		}
		if slices.Contains(c.Shows, r.Verdict.Word) {
			shown++
		}
	}
	if shown > 0 && shown < len(all.Rows) {
		return result.ClaimUndecided
	}
	return decided(shown > 0)
}

func decided(shown bool) string {
	if shown {
		return result.ClaimShown
	}
	return result.ClaimRefuted
}
