package reports

import (
	"cmp"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// unsafeOtherwise says that a row is unsafe although nothing of this was counted.
func unsafeOtherwise(r result.Row, counted result.Figure) bool {
	n, _ := counted.Of(r)
	return r.Verdict.Safety == result.Unsafe && n == 0
}

// unreachable is how many duplicates a row has whose other room could not be reached.
func unreachable(r result.Row) int64 {
	if r.Duplicates == nil {
		return 0
	}
	return r.Duplicates.Unreachable
}

// besides is what the figure of a row leaves out: duplicates that are not judged, other
// violations where there are none of its own, and where an outage was if not everywhere.
func besides(say *lang.Lang, f result.Figure, r result.Row) string {
	var parts []string
	switch n := unreachable(r); {
	case f.Field == result.OutageField:
		return longestOutage(say, r).where(say)
	case f.Violation == "":
		return ""
	case f.Violation == "duplicate" && n > 0:
		parts = append(parts, say.Sprintf("+%s unreachable", count(n)))
	}
	if unsafeOtherwise(r, f) {
		parts = append(parts, otherViolations(say, f, r)...)
	}
	return strings.Join(parts, ", ")
}

// cutOffElsewhere names another row than those that are told whose outage went on when its measured part
// ended: it may have been the longest.
func cutOffElsewhere(say *lang.Lang, f result.Figure, told []string, rows []result.Row) string {
	open := rowsWith(rows, func(one result.Row) bool { return !slices.Contains(told, one.Scenario) && wentOn(one) })
	if f.Field != result.OutageField || len(open) == 0 {
		return ""
	}
	r, _ := worst(open, f)
	return ofAnother(say, r, longestOutage(say, r).atLeast(say, ""))
}

// worseBesides says that a row is worse than another by what [besides] tells of rows without any violation
// of the figure.
func worseBesides(f result.Figure, r, than result.Row) bool {
	of := func(r result.Row) (sum float64) {
		for _, other := range result.Figures() {
			if n, _ := other.Of(r); other.Violation != "" && other.Violation != f.Violation {
				sum += n
			}
		}
		return sum
	}
	return cmp.Or(cmp.Compare(of(r), of(than)), cmp.Compare(unreachable(r), unreachable(than))) > 0
}

// ofAnother tells what another row than the one of a cell has.
func ofAnother(say *lang.Lang, r result.Row, value string) string {
	if r.Verdict.Undecided() {
		return say.Sprintf("%s: %s, undecided", plain(r.Scenario), value)
	}
	return say.Sprintf("%s: %s", plain(r.Scenario), value)
}

// unblamed says how much of an outage, how many violations, or what share of the requests that failed, no
// fault is to blame for; "" where that is nothing.
func unblamed(say *lang.Lang, f result.Figure, r result.Row) string {
	switch {
	case f.Field == result.OutageField:
		return longestOutage(say, r).early(say)
	case f.Violation != "":
		return withoutFault(say, f, r)
	case f.Answer != "" && f.As == result.Share && failedUntouched(r) > 0:
		return say.Sprintf("%s of those that no fault touched", percent(failedUntouched(r)))
	}
	return ""
}

// otherViolations are those of a row that are not this figure's.
func otherViolations(say *lang.Lang, counted result.Figure, r result.Row) (parts []string) {
	for _, f := range result.Figures() {
		if n, _ := f.Of(r); f.Violation != "" && f.Violation != counted.Violation && n > 0 {
			parts = append(parts, "+"+count(int64(n))+" "+say.Term(f.Title))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, say.Term(result.Unsafe))
	}
	return parts
}
