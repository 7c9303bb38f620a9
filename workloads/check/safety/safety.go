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

	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// Findings are what was found, and what it says about the lock.
type Findings struct {
	Duplicates, Unreachable, Overlaps, TokensBack, InDoubt int64

	// Of fenced-write. CheckedWrites showed a token; without any, stale writes and lost updates
	// are figures and not violations.
	StaleWrites, LostUpdates, FencedWrites, CheckedWrites int64

	ZombieNS int64
	// Violations are the first of each code, [result.MaxViolations] in all, in order of time;
	// after those that count, the excused ones.
	Violations []result.Violation
	Statement  result.Statement
}

// Judge looks at a run.
func Judge(r *record.Run) Findings { return look(r, result.MaxViolations) }

// All are all violations of a run, excused ones last.
func All(r *record.Run) []result.Violation { return look(r, math.MaxInt).Violations }

func look(r *record.Run, most int) Findings {
	j := judge{Run: r, killed: make([][]int64, len(r.Names))}
	for i := range r.Nodes {
		j.killed[r.Nodes[i].Name] = r.Nodes[i].Killed
	}
	j.rooms()
	j.holds()
	j.writes()
	j.f.Violations = j.first(most)
	j.f.Statement = j.f.statement()
	return j.f
}

func (f *Findings) statement() result.Statement {
	type count struct {
		code result.Code
		n    int64
	}
	all := []count{{result.Duplicates, f.Duplicates}, {result.Overlaps, f.Overlaps}, {result.TokensBack, f.TokensBack}}
	if f.CheckedWrites > 0 {
		all = append(all, count{result.StaleWrites, f.StaleWrites}, count{result.LostUpdates, f.LostUpdates})
	}
	for _, v := range all {
		if v.n > 0 {
			return result.Statement{State: result.Failed, Code: v.code, N: float64(v.n)}
		}
	}
	if f.InDoubt > 0 {
		return result.Statement{State: result.Unknown, Code: result.InDoubt, N: float64(f.InDoubt)}
	}
	return result.Statement{State: result.OK}
}

type judge struct {
	*record.Run
	f      Findings
	killed [][]int64 // of each node, by its name
	found  []found
}

// found is a violation of which the parties are only looked up if it is one of the first.
type found struct {
	code     result.Code
	at       int64
	resource record.Name
	excused  bool
	parties  func() (was, came result.Party)
}

// violation notes one that counts.
func (j *judge) violation(code result.Code, at int64, resource record.Name, parties func() (was, came result.Party)) {
	j.found = append(j.found, found{code, at, resource, false, parties})
}

// first has the first violations of each code in order of time, then as many excused ones as fit.
func (j *judge) first(most int) (list []result.Violation) {
	slices.SortStableFunc(j.found, func(a, b found) int { return cmp.Compare(a.at, b.at) })
	told := map[result.Code]int{}
	for _, f := range j.found {
		if !f.excused {
			told[f.code] = 0
		}
	}
	share := most / max(len(told), 1)
	for _, excused := range []bool{false, true} {
		for _, f := range j.found {
			if f.excused != excused || !excused && told[f.code] == share || len(list) == most {
				continue
			}
			told[f.code]++
			was, came := f.parties()
			list = append(list, result.Violation{Code: f.code, AtMS: j.ms(f.at), Resource: j.Text(f.resource), First: was, Second: came, Excused: excused})
		}
	}
	return list
}

// ms is a time as results have it.
func (j *judge) ms(at int64) float64 {
	if at == record.Never {
		return result.Never
	}
	return float64(at-j.Measure) / 1e6
}

// holder is a hold as results have it.
func (j *judge) holder(a *record.Acquire) result.Party {
	return result.Party{Node: j.Text(a.Node), Hold: j.Text(a.Hold), Token: a.Token, FromMS: j.ms(a.At), ToMS: j.ms(a.Until)}
}

// holds looks at the holds of each resource.
func (j *judge) holds() {
	var holds []*record.Acquire
	for own := range j.ByResource() {
		holds = holds[:0]
		for i := range own {
			if own[i].Granted() {
				holds = append(holds, &own[i])
			}
		}
		j.overlaps(holds)
		j.zombies(holds)
		j.tokens(slices.DeleteFunc(holds, func(a *record.Acquire) bool { return a.Token == 0 }))
	}
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
			j.f.Overlaps++
			j.violation(result.Overlaps, next.At, h.Resource, func() (was, came result.Party) { return j.holder(h), j.holder(next) })
		case next.At < h.Until:
			j.f.InDoubt++
		}
	}
}

// tokens counts the holds that have no higher token than each that surely ended before they began.
func (j *judge) tokens(holds []*record.Acquire) {
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
			j.f.TokensBack++
			j.violation(result.TokensBack, h.At, h.Resource, func() (was, came result.Party) { return j.holder(highest), j.holder(h) })
		}
	}
}

func surelyOver(a *record.Acquire) int64 {
	if a.Until == record.Never {
		return record.Never
	}
	return a.Until + a.Err
}

// zombies finds for how long at most a holder believed that it holds after the next grant.
func (j *judge) zombies(holds []*record.Acquire) {
	slices.SortStableFunc(holds, func(a, b *record.Acquire) int { return cmp.Compare(a.At, b.At) })
	var believed int64 // by any holder before, at least until then
	for _, h := range holds {
		j.f.ZombieNS = max(j.f.ZombieNS, believed-h.At-h.Err)
		believed = max(believed, min(h.Until, j.End)-h.Err)
	}
}
