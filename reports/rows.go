package reports

import (
	"slices"

	"locklab/reports/result"
)

func locksOf(rows []result.Row) []string {
	return distinct(rows, func(r result.Row) string { return r.Lock })
}

func scenariosOf(rows []result.Row) []string {
	return distinct(rows, func(r result.Row) string { return r.Scenario })
}

func workloadsOf(rows []result.Row) []string {
	return distinct(rows, func(r result.Row) string { return r.Workload })
}

// distinct keeps the order of first appearance, which is the order that the user
// asked for.
func distinct(rows []result.Row, of func(result.Row) string) []string {
	var names []string
	for _, r := range rows {
		if name := of(r); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func rowsWith(rows []result.Row, keep func(result.Row) bool) []result.Row {
	var kept []result.Row
	for _, r := range rows {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

func findRow(rows []result.Row, lock, scenario, workload string) (result.Row, bool) {
	for _, r := range rows {
		if r.Lock == lock && r.Scenario == scenario && r.Workload == workload {
			return r, true
		}
	}
	return result.Row{}, false
}

func plainAll(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = plain(name)
	}
	return out
}

// byScenario orders rows by scenario and then by lock, both in the order of their
// first appearance.
func byScenario(rows []result.Row) []result.Row {
	sorted := slices.Clone(rows)
	locks, scenarios := locksOf(rows), scenariosOf(rows)
	slices.SortStableFunc(sorted, func(a, b result.Row) int {
		if d := slices.Index(scenarios, a.Scenario) - slices.Index(scenarios, b.Scenario); d != 0 {
			return d
		}
		return slices.Index(locks, a.Lock) - slices.Index(locks, b.Lock)
	})
	return sorted
}
