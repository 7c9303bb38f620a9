package reports

import (
	"fmt"
	"strings"

	"locklab/reports/result"
)

// quietShare is the share of requests above which nobody would speak of an outage.
const quietShare = 0.999

// lockFindings says the same of every lock, whether it is to its credit or not: each
// figure the worst over the scenarios, with the scenario.
func lockFindings(rows []result.Row) []finding {
	things := thingOf(rows)
	one := len(scenariosOf(rows)) == 1
	var all []finding
	for _, lock := range locksOf(rows) {
		of := rowsWith(rows, func(r result.Row) bool { return r.Lock == lock })
		under := func(r result.Row) string {
			if one {
				return ""
			}
			return " under " + plain(r.Scenario)
		}
		text := named(lock)
		if one {
			text += " under " + plain(of[0].Scenario)
		}
		text += ": " + harm(of, things, under) + "; " + unserved(of, under)
		if outage := longestStall(of, under); outage != "" {
			text += "; " + outage
		}
		if slow := slowest(of, under); slow != "" {
			text += "; " + slow
		}
		all = append(all, finding{topicLocks, unexpected(of), text + "." + caveats(of)})
	}
	return all
}

// harm is what happened that a lock is to prevent, and what nobody could have prevented.
func harm(rows []result.Row, things thing, under func(result.Row) string) string {
	if things.of == nil {
		return "nothing was counted that a lock is to prevent"
	}
	hits, measured := 0, 0
	var worst result.Row
	var most int64
	for _, r := range rows {
		n, ok := things.of(r)
		if !ok || r.Verdict.Safety == result.SafetyNotJudged {
			continue // where nothing had to show, that nothing was seen means nothing
		}
		measured++
		if r.Duplicates != nil {
			n += r.Duplicates.Warmup
		}
		if n > 0 {
			hits++
		}
		if n > most {
			worst, most = r, n
		}
	}
	text := "no " + things.none
	if measured == 0 {
		text = "whether it is safe was not judged"
	}
	if most > 0 {
		text = plural(most, things.one) + under(worst) + share(worst, most)
		if hits > 1 {
			text = "at worst " + text
		}
	}
	if measured > 1 {
		switch {
		case hits == 0:
			text += fmt.Sprintf(" in %d scenarios", measured)
		case hits < measured:
			text += fmt.Sprintf(", in %d of %d scenarios", hits, measured)
		default:
			text += fmt.Sprintf(", some in each of %d scenarios", measured)
		}
	}
	if things.many == manyDuplicates {
		text += apart(rows, under)
	}
	return text
}

// share says how many of n duplicates came before the measured part, and what the others
// are to its matches.
func share(r result.Row, n int64) string {
	if r.Duplicates == nil {
		return ""
	}
	var parts []string
	if measured := n - r.Duplicates.Warmup; r.Matches > 0 && measured > 0 {
		parts = append(parts, figure(float64(measured)*1000/float64(r.Matches))+" per 1,000 matches")
	}
	if r.Duplicates.Warmup > 0 {
		parts = append(parts, count(r.Duplicates.Warmup)+" of them in the warm-up")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// apart adds what matchmaking counts beside the judged duplicates.
func apart(rows []result.Row, under func(result.Row) string) string {
	text := ""
	if worst, n := most(rows, func(r result.Row) float64 {
		if r.Duplicates == nil {
			return 0
		}
		return float64(r.Duplicates.Unreachable)
	}); n > 0 {
		text += fmt.Sprintf(", %s that no lock can prevent%s, because the other room's worker could not be reached",
			count(int64(n)), under(worst))
	}
	if worst, n := most(rows, func(r result.Row) float64 { return float64(deref(r.Overlaps)) }); n > 0 {
		text += fmt.Sprintf(", %s%s", plural(int64(n), "overlapping hold"), under(worst))
	}
	return text
}

// unserved is the worst share of operations that were refused, failed, or never answered.
func unserved(rows []result.Row, under func(result.Row) string) string {
	worst, share := most(rows, func(r result.Row) float64 { return 1 - r.Availability })
	if share <= 0 {
		return "every request was served"
	}
	return percent(share) + " of the requests were not served" + under(worst)
}

// longestStall is the longest time in which somebody waited and nobody got the lock.
func longestStall(rows []result.Row, under func(result.Row) string) string {
	worst, ms := most(rows, func(r result.Row) float64 {
		if r.StallMS == nil {
			return 0
		}
		return *r.StallMS
	})
	if ms <= 0 {
		return ""
	}
	return "the longest time without a grant while somebody waited was " + span(ms) + under(worst)
}

// slowest is the worst p99, which only tells of the requests that were served.
func slowest(rows []result.Row, under func(result.Row) string) string {
	name := "p99"
	p99 := func(r result.Row) float64 {
		switch {
		case r.LatencyMS != nil:
			return r.LatencyMS.P99
		case r.AcquireMS != nil:
			return r.AcquireMS.P99
		}
		return 0
	}
	worst, ms := most(rows, p99)
	if ms <= 0 {
		return ""
	}
	return name + " " + span(ms) + under(worst) + ofServed(worst)
}

// ofServed says how many requests a latency tells of, if not of all.
func ofServed(r result.Row) string {
	if r.Availability >= quietShare {
		return ""
	}
	return " (of the " + percent(r.Availability) + " that were served)"
}

// most finds the first row with the greatest figure.
func most(rows []result.Row, of func(result.Row) float64) (worst result.Row, figure float64) {
	for _, r := range rows {
		if v := of(r); v > figure {
			worst, figure = r, v
		}
	}
	return worst, figure
}

// caveats names the scenarios whose figures judge nothing.
func caveats(rows []result.Row) string {
	var unsure, unjudged []string
	for _, r := range rows {
		switch {
		case r.Verdict.Status == result.StatusInconclusive:
			unsure = append(unsure, plain(r.Scenario))
		case r.Verdict.Safety == result.SafetyNotJudged:
			unjudged = append(unjudged, plain(r.Scenario))
		}
	}
	text := ""
	if len(unsure) > 0 {
		text += " Inconclusive: " + list(unsure) + "."
	}
	if len(unjudged) > 0 && len(unjudged) < len(rows) {
		text += " Safety was not judged under " + list(unjudged) + "."
	}
	return text
}
