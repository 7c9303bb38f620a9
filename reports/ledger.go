package reports

import (
	"math"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// ledgerLine sums up one fault of a scenario over the runs that it was part of.
type ledgerLine struct {
	Scenario, Kind, Target string
	Runs, Proven           int
	Began, Ended           string // ms since the measured part began, as a range
}

// ledger groups the entries of the proof-of-fault ledger by scenario, kind and
// target, in the order of their first appearance.
func ledger(say *lang.Lang, rows []result.Row) []ledgerLine {
	type span struct{ low, high float64 }
	type group struct {
		line         ledgerLine
		began, ended span
	}
	var groups []*group
	byKey := map[[3]string]*group{}
	widen := func(s *span, v float64) {
		if v != result.Never {
			s.low, s.high = min(s.low, v), max(s.high, v)
		}
	}
	none := span{math.Inf(1), math.Inf(-1)}
	for _, r := range byScenario(rows) {
		for _, f := range r.Faults {
			key := [3]string{r.Scenario, f.Kind, f.Target}
			g := byKey[key]
			if g == nil {
				g = &group{ledgerLine{Scenario: plain(r.Scenario), Kind: plain(f.Kind), Target: recorded(say, orAbsent(f.Target))}, none, none}
				byKey[key] = g
				groups = append(groups, g)
			}
			g.line.Runs++
			if f.Proven {
				g.line.Proven++
				widen(&g.began, f.BeganMS)
				widen(&g.ended, f.EndedMS)
			}
		}
	}
	lines := make([]ledgerLine, len(groups))
	text := func(s span) string {
		switch {
		case s.low > s.high:
			return absent
		case s.high-s.low < 0.5:
			return figure(math.Round(s.low))
		default:
			return say.Sprintf("%s to %s", figure(math.Round(s.low)), figure(math.Round(s.high)))
		}
	}
	for i, g := range groups {
		g.line.Began, g.line.Ended = text(g.began), text(g.ended)
		lines[i] = g.line
	}
	return lines
}
