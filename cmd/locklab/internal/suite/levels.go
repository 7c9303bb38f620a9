package suite

import (
	"slices"
	"strconv"

	"locklab/internal/strictyaml"
	"locklab/workloads/result"
)

// Anomaly is one named way in which a lock fails, and the runs that provoke it.
type Anomaly struct {
	Letter, Name string
	// Control is a lock that must show it: where it does not, nothing is said of the others.
	Control string
	Cells   []Cell // without a lock; any of them shows it
}

func readAnomaly(n strictyaml.Node) Anomaly {
	f := n.Fields("letter", "name", "control", "cells")
	a := Anomaly{
		Letter: f.Get("letter").Need("one letter, such as A").Text(), Name: f.Get("name").Need("a few words").Text(),
		Control: f.Get("control").Need("a lock that must show it").Text(),
	}
	for _, one := range f.Get("cells").Some("the runs that provoke it") {
		a.Cells = append(a.Cells, readCell(one, "scenario", "workload", "shows"))
	}
	return a
}

// Level says how often the runs of one lock showed one anomaly.
type Level struct {
	Tried
	Ran    bool    // false: the result has no run of it
	Silent bool    // the control did not show it
	By     []Tried // the combinations that showed it
}

// Tried counts the runs of a combination that decided.
type Tried struct {
	result.Key
	Shown, Tries int
}

// String is the glyph of the table: shown, not shown in so many tries, does not apply, undecided.
func (l Level) String() string {
	switch {
	case !l.Ran:
		return "·"
	case l.Shown > 0:
		return "✗"
	case l.Silent || l.Tries == 0:
		return "?"
	default:
		return "✓ " + strconv.Itoa(l.Tries)
	}
}

// Levels are those of a lock, by anomaly.
func Levels(anomalies []Anomaly, f result.File, lock string) (all []Level) {
	cells := f.Cells()
	for _, a := range anomalies {
		l := a.of(cells, lock)
		l.Silent = a.of(cells, a.Control).Shown == 0
		all = append(all, l)
	}
	return all
}

func (a Anomaly) of(cells []result.Cell, lock string) (l Level) {
	for _, cell := range a.Cells {
		cell.Lock = lock
		i := slices.IndexFunc(cells, func(c result.Cell) bool { return c.Key == cell.Key })
		if i < 0 {
			continue
		}
		l.Ran = true
		tried := Tried{Key: cell.Key}
		for _, row := range cells[i].Rows {
			switch cell.verdict(result.Cell{Key: cell.Key, Rows: []*result.Row{row}}) {
			case result.ClaimShown:
				tried.Shown++
				tried.Tries++
			case result.ClaimRefuted:
				tried.Tries++
			}
		}
		l.Shown, l.Tries = l.Shown+tried.Shown, l.Tries+tried.Tries
		if tried.Shown > 0 {
			l.By = append(l.By, tried)
		}
	}
	return l
}
