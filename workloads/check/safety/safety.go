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
	j := judge{Run: r, killed: make([][]int64, len(r.Names)), most: most, counted: map[result.Code]*first{}, excused: first{most: most}}
	for i := range r.Nodes {
		j.killed[r.Nodes[i].Name] = r.Nodes[i].Killed
	}
	j.rooms()
	j.holds()
	j.writes()
	for _, code := range []result.Code{result.Duplicates, result.Overlaps, result.TokensBack, result.StaleWrites, result.LostUpdates} {
		if one := j.counted[code]; one != nil {
			j.f.Violations = append(j.f.Violations, one.all[:min(len(one.all), most/len(j.counted))]...)
		}
	}
	slices.SortStableFunc(j.f.Violations, func(a, b result.Violation) int { return cmp.Compare(a.AtMS, b.AtMS) })
	left := min(most-len(j.f.Violations), len(j.excused.all))
	j.f.Violations = append(j.f.Violations, j.excused.all[:left]...)
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
	f       Findings
	killed  [][]int64 // of each node, by its name
	most    int       // violations
	counted map[result.Code]*first
	excused first
}

// first has the first violations, in order of time.
type first struct {
	most int
	all  []result.Violation
}

// add calls about only for a violation that is one of the first.
func (f *first) add(at float64, about func() result.Violation) {
	n := len(f.all)
	for n > 0 && f.all[n-1].AtMS > at {
		n--
	}
	if n == f.most {
		return
	}
	v := about()
	v.AtMS = at
	f.all = slices.Insert(f.all, n, v)
	f.all = f.all[:min(len(f.all), f.most)]
}

// violation notes one that counts.
func (j *judge) violation(code result.Code, at int64, resource record.Name, parties func() (was, came result.Party)) {
	if j.counted[code] == nil {
		j.counted[code] = &first{most: j.most}
	}
	j.counted[code].add(j.ms(at), func() result.Violation {
		was, came := parties()
		return result.Violation{Code: code, Resource: j.Text(resource), First: was, Second: came}
	})
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
