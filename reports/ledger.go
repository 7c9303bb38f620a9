package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
	"locklab/workloads/history"
)

// ledgerLine sums up one fault of a scenario over the runs that it was part of.
type ledgerLine struct {
	Scenario, Kind, Target string
	Hit                    string // the hosts and processes
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
		hit          result.Fault
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
		for n, f := range done(r) {
			key, name := [3]string{r.Scenario, f.Kind, f.Target}, plain(r.Scenario)
			if r.Played { // what a person did is told one by one
				key[0], name = fmt.Sprint(r.Scenario, " ", r.Lock, " ", n), fmt.Sprintf("%s (%s)", plain(r.Scenario), plain(r.Lock))
			}
			g := byKey[key]
			if g == nil {
				g = &group{ledgerLine{Scenario: name, Kind: plain(f.Kind), Target: plain(orAbsent(say.Tell(history.TargetText(f.Target))))}, none, none, result.Fault{}}
				byKey[key] = g
				groups = append(groups, g)
			}
			g.line.Runs++
			g.hit.From = append(g.hit.From, f.From...) // of all runs: not every lock has nodes on every host
			g.hit.To = append(g.hit.To, f.To...)
			g.hit.Nodes = append(g.hit.Nodes, f.Nodes...)
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
		g.line.Hit = hitText(say, g.hit)
		g.line.Began, g.line.Ended = text(g.began), text(g.ended)
		lines[i] = g.line
	}
	return lines
}

// done are the faults of a row, and with them the rates that a person set, by when they began.
func done(r result.Row) []result.Fault {
	all := slices.Clone(r.Faults)
	for _, rate := range r.Rates {
		all = append(all, result.Fault{
			Kind: "rate", Target: figure(rate.PerS) + "/s", AskedMS: rate.AtMS, BeganMS: rate.AtMS, EndedMS: result.Never, Proven: true,
		})
	}
	if len(r.Rates) > 0 {
		slices.SortStableFunc(all, func(a, b result.Fault) int { return cmp.Compare(a.AskedMS, b.AskedMS) })
	}
	return all
}

// hitText says what a fault cut off or stopped.
func hitText(say *lang.Lang, f result.Fault) string {
	var parts []string
	each := func(names []string) []string {
		sorted := plainAll(names)
		slices.Sort(sorted)
		return slices.Compact(sorted)
	}
	from, to := each(f.From), each(f.To)
	switch {
	case len(from) == 0 || len(to) == 0:
	case slices.Equal(from, to):
		parts = append(parts, say.Sprintf("hosts of different zones among %s", strings.Join(from, ", ")))
	default:
		parts = append(parts, say.Sprintf("from %s to %s", strings.Join(from, ", "), strings.Join(to, ", ")))
	}
	if len(f.Nodes) > 0 {
		parts = append(parts, say.Sprintf("processes: %s", strings.Join(each(f.Nodes), ", ")))
	}
	return strings.Join(parts, "; ")
}
