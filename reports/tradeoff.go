package reports

import (
	"html/template"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
)

// tradeoff is the plot of what a lock gives up against what it lets happen.
type tradeoff struct {
	SVG   template.HTML
	Clean string // what has no mark in it, because nothing went wrong
	Note  string
}

// tradeoffOf has no plot where nothing went wrong.
func tradeoffOf(say *lang.Lang, rows []result.Row, inks map[string]plots.Ink) (t tradeoff) {
	counted := violationOf(rows)
	if counted.Violation == "" {
		return t
	}
	measure := say.Term(counted.Answer)
	if counted.Violation == "duplicate" {
		measure = say.Text("duplicates of the lock per 1,000 matches, in the measured part")
	}
	var points []plots.Point
	locks := locksOf(rows)
	clean, unsure, unserved, unsafe := map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string][]string{}
	unmeasured, notJudged := map[string][]string{}, map[string][]string{}
	for _, r := range rows {
		if r.NothingMeasured() {
			unmeasured[plain(r.Lock)] = append(unmeasured[plain(r.Lock)], plain(r.Scenario))
			continue
		}
		if nobodyServed(r) {
			unserved[plain(r.Lock)] = append(unserved[plain(r.Lock)], plain(r.Scenario))
			continue
		}
		p := plots.Point{
			Lock: plain(r.Lock), Scenario: plain(r.Scenario), Ink: inks[r.Lock], Mark: slices.Index(locks, r.Lock), Href: FileIn(say, EvidenceFile) + "#" + rowID(r),
			X: (1 - r.Availability) * 100, Y: per1000(counted, r),
		}
		n, _ := counted.Of(r)
		unjudged := n == 0 && !unsafeOtherwise(r, counted) && r.Verdict.Safety == result.SafetyNotJudged
		p.Unsure = r.Verdict.Undecided() || unjudged
		if r.LatencyMS != nil {
			p.P99MS = r.LatencyMS.P99
		}
		p.Words = say.Sprintf("%s under %s: %s %s, %s of the requests failed, p99 %s", p.Lock, p.Scenario, figure(p.Y), measure, percent(1-r.Availability), span(say, p.P99MS))
		if p.X == 0 && p.Y == 0 && n == 0 && !unsafeOtherwise(r, counted) {
			switch {
			case r.Verdict.Undecided():
				unsure[p.Lock] = append(unsure[p.Lock], p.Scenario)
			case unjudged:
				notJudged[p.Lock] = append(notJudged[p.Lock], p.Scenario)
			default:
				clean[p.Lock] = append(clean[p.Lock], p.Scenario)
			}
			continue
		}
		if p.Unsafe = unsafeOtherwise(r, counted); p.Unsafe {
			others := strings.Join(otherViolations(say, counted, r), ", ")
			p.Words += ", " + others
			unsafe[p.Lock] = append(unsafe[p.Lock], p.Scenario+" "+others)
		}
		points = append(points, p)
	}
	if len(points) == 0 {
		return t
	}
	list := func(of map[string][]string) string {
		var parts []string
		for _, lock := range plainAll(locks) {
			if names := of[lock]; len(names) > 0 {
				parts = append(parts, lock+" ("+strings.Join(names, ", ")+")")
			}
		}
		return strings.Join(parts, "; ")
	}
	if len(clean) > 0 {
		t.Clean = say.Sprintf("At the origin, with none of either: %s.", list(clean))
	}
	if len(unsure) > 0 {
		t.Clean = strings.TrimSpace(t.Clean + " " + say.Sprintf("There too, but undecided: %s.", list(unsure)))
	}
	if len(notJudged) > 0 {
		t.Clean = strings.TrimSpace(t.Clean + " " + say.Sprintf("There too, but whether it is safe was not judged: %s.", list(notJudged)))
	}
	if len(unsafe) > 0 {
		t.Clean = strings.TrimSpace(t.Clean + " " + say.Sprintf("✗, unsafe although it has none of these: %s.", list(unsafe)))
	}
	if len(unserved) > 0 {
		t.Clean = strings.TrimSpace(t.Clean + " " + say.Sprintf("Without a mark, because nobody was served: %s.", list(unserved)))
	}
	if len(unmeasured) > 0 {
		t.Clean = strings.TrimSpace(t.Clean + " " + say.Sprintf("Without a mark, because nothing was measured: %s.", list(unmeasured)))
	}
	t.Note = say.Sprintf("Each mark is a lock under a scenario; best is bottom left. Upwards: %s. To the right: failed requests. The larger the mark, the slower the slowest 1 %% (p99). A hollow mark decides nothing, or not whether the lock is safe.", measure)
	t.SVG = template.HTML(plots.Tradeoff(say, measure, points)) //nolint:gosec // drawn and escaped by plots
	return t
}
