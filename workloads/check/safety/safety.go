// Package safety counts what a lock is there to prevent, in the whole run, warm-up included:
// rooms that were created in vain, holds at once, fencing tokens that go back, and writes that a
// store took too late.
//
// Times of different hosts are right within their error bounds. A violation is counted if it is
// one for any clocks within the bounds; if it is one by the clocks as they were read, and need
// not be, it is in doubt.
package safety

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Judge puts what was found, and what it says about the lock, into the row of the run. Violations are
// the first of each code, [result.MaxViolations] in all, in order of time; after those that count,
// the excused ones.
func Judge(r *record.Run, row *result.Row) { look(r, row, result.MaxViolations) }

// All are all violations of a run, excused ones last.
func All(r *record.Run) []result.Violation {
	row := result.Row{Figures: map[string]float64{}}
	look(r, &row, math.MaxInt)
	return row.Violations
}

type judge struct {
	*record.Run
	row     *result.Row
	checked bool // a writer showed a token; else stale writes and lost updates violate nothing
	found   []result.Violation
}

func look(r *record.Run, row *result.Row, most int) {
	j := judge{Run: r, row: row}
	row.Figures["overlaps"], row.Figures["in_doubt"] = 0, 0
	for _, name := range map[string][]string{
		history.Matchmaking: {"duplicates", "unreachable"}, history.FencedWrite: {
			"stale_writes", "lost_updates",
			"fenced_writes",
		},
	}[r.Head.Workload] {
		row.Figures[name] = 0
	}
	j.rooms()
	j.holds()
	j.writes()
	j.first(most)
	row.Verdict.Safety = j.statement()
}

// figure is the one that counts violations of a code.
func figure(code result.Code) string { return strings.ReplaceAll(string(code), "-", "_") }

func (j *judge) statement() result.Statement {
	codes := []result.Code{result.Duplicates, result.Overlaps, result.TokensBack}
	if j.checked {
		codes = append(codes, result.StaleWrites, result.LostUpdates)
	}
	for _, code := range codes {
		if n := j.row.Figures[figure(code)]; n > 0 {
			return result.Statement{State: result.Failed, Code: code, N: n}
		}
	}
	if n := j.row.Figures["in_doubt"]; n > 0 {
		return result.Statement{State: result.Unknown, Code: result.InDoubt, N: n}
	}
	return result.Statement{State: result.OK}
}

// violation counts one.
func (j *judge) violation(code result.Code, at int64, resource string, was, came result.Party) {
	j.row.Figures[figure(code)]++
	j.found = append(j.found, result.Violation{Code: code, AtMS: j.MS(at), Resource: resource, First: was, Second: came})
}

// first tells the first violations of each code in order of time, then as many excused ones as fit.
func (j *judge) first(most int) {
	slices.SortStableFunc(j.found, func(a, b result.Violation) int { return cmp.Compare(a.AtMS, b.AtMS) })
	told := map[result.Code]int{}
	for _, v := range j.found {
		if !v.Excused {
			told[v.Code] = 0
		}
	}
	share, list := most/max(len(told), 1), &j.row.Violations
	for _, excused := range []bool{false, true} {
		for _, v := range j.found {
			if v.Excused == excused && (excused || told[v.Code] < share) && len(*list) < most {
				told[v.Code]++
				*list = append(*list, v)
			}
		}
	}
}

// holder is a hold as results have it.
func (j *judge) holder(a *record.Acquire) result.Party {
	return result.Party{Node: a.Node, Hold: a.Hold, Token: a.Token, FromMS: j.MS(a.At), ToMS: j.MS(a.Until)}
}

// holds looks at the holds of each resource.
func (j *judge) holds() {
	var holds []*record.Acquire
	var zombie int64
	for own := range j.ByResource() {
		holds = holds[:0]
		for _, a := range own {
			if a.Granted() {
				holds = append(holds, a)
			}
		}
		j.overlaps(holds)
		zombie = max(zombie, j.zombie(holds))
		j.tokens(slices.DeleteFunc(holds, func(a *record.Acquire) bool { return a.Token == 0 }))
	}
	j.row.Figures["zombie_ms"] = record.MS(zombie)
}

// overlaps counts the holds during which another one surely began: the one that surely began
// next tells.
func (j *judge) overlaps(holds []*record.Acquire) {
	slices.SortFunc(holds, func(a, b *record.Acquire) int {
		return cmp.Or(cmp.Compare(a.At+a.Err, b.At+b.Err), cmp.Compare(b.Until-b.Err, a.Until-a.Err))
	})
	for i, h := range holds[:max(0, len(holds)-1)] {
		switch next := holds[i+1]; {
		case next.At+next.Err < h.Until-h.Err:
			j.violation(result.Overlaps, next.At, h.Resource, j.holder(h), j.holder(next))
		case next.At < h.Until:
			j.row.Figures["in_doubt"]++
		}
	}
}

// tokens counts the holds that have no higher token than each that surely ended before they began.
func (j *judge) tokens(holds []*record.Acquire) {
	if len(holds) > 0 {
		j.row.Figures["tokens_back"] += 0
	}
	slices.SortFunc(holds, func(a, b *record.Acquire) int { return cmp.Compare(a.At-a.Err, b.At-b.Err) })
	ended := slices.Clone(holds)
	slices.SortFunc(ended, func(a, b *record.Acquire) int { return cmp.Compare(surelyOver(a), surelyOver(b)) })
	var highest *record.Acquire
	for _, h := range holds {
		for len(ended) > 0 && ended[0] != h && surelyOver(ended[0]) <= h.At-h.Err {
			if highest == nil || ended[0].Token > highest.Token {
				highest = ended[0]
			}
			ended = ended[1:]
		}
		if highest != nil && h.Token <= highest.Token {
			j.violation(result.TokensBack, h.At, h.Resource, j.holder(highest), j.holder(h))
		}
	}
}

func surelyOver(a *record.Acquire) int64 {
	if a.Until == record.Never {
		return record.Never
	}
	return a.Until + a.Err
}

// zombie is for how long at most a holder believed that it holds after the next grant.
func (j *judge) zombie(holds []*record.Acquire) (longest int64) {
	slices.SortStableFunc(holds, func(a, b *record.Acquire) int { return cmp.Compare(a.At, b.At) })
	var believed int64 // by any holder before, at least until then
	for _, h := range holds {
		longest = max(longest, believed-h.At-h.Err)
		believed = max(believed, min(h.Until, j.End)-h.Err)
	}
	return longest
}
