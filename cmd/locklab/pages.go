package main

import (
	"fmt"
	"html/template"
	"os"
	"strconv"
	"strings"

	"locklab/reports"
	"locklab/reports/sweep"
	"locklab/verify/explore"
	"locklab/verify/sim"
)

// typed is the command of this process.
func typed() string { return strings.Join(append([]string{"locklab"}, os.Args[1:]...), " ") }

// writeSweepPage writes a sweep as one page: a plot of each figure, then the tables.
func writeSweepPage(path, lock string, points []sim.Point, drawn []sweep.Point, seed uint64) error {
	page := reports.Sheet{
		Title: lock + " against the number of peers", Lede: fmt.Sprintf("Simulated in virtual time, seed %d", seed), Made: typed(),
		Facts: []reports.SheetFact{{Name: "all points", Lines: []string{"sweep.csv beside this page has them in full precision"}}},
	}
	for _, f := range sweep.Figures() {
		drawing, err := sweep.Draw(f, drawn)
		if err != nil {
			return err
		}
		page.Sections = append(page.Sections, reports.SheetSection{Title: strings.ToUpper(f.Title[:1]) + f.Title[1:], Drawing: drawing})
	}
	var columns []reports.SheetColumn
	for i, title := range sweepColumns() {
		columns = append(columns, reports.SheetColumn{Title: title, Number: i > 0})
	}
	for _, zones := range sweepZones() {
		page.Sections = append(page.Sections, reports.SheetSection{
			Title: fmt.Sprintf("%d zones", zones), Notes: crossings(points, lock, zones), Columns: columns, Rows: sweepRows(points, zones),
		})
	}
	return reports.WriteSheet(path, page)
}

// writePage writes an exploration as one page: the verdict, what was explored, and the way
// to a violation as a drawing and as a table.
func (t tale) writePage(path string) error {
	page := reports.Sheet{
		Title: t.Spec + ", explored", Lede: t.Scope.String(), Made: typed(),
		Verdict: reports.SheetVerdict{Text: t.conclusion(), Good: t.Ended == explore.Complete, Bad: t.Ended == explore.Violated},
		Facts: []reports.SheetFact{
			{Name: "modelled", Lines: t.Modelled()},
			{Name: "checked", Lines: t.checks()},
			{Name: "seen", Lines: []string{t.seen()}},
		},
	}
	if t.Trace != nil {
		var drawing strings.Builder
		if err := t.Trace.WriteSVG(&drawing, t.Spec, t.Violation); err != nil {
			return err
		}
		section := reports.SheetSection{
			Title: "The shortest way to the violation", Drawing: template.HTML(drawing.String()), //nolint:gosec // drawn and escaped by explore
			Columns: []reports.SheetColumn{{Title: "step", Number: true}, {Title: "peer", Number: true}, {Title: "what happens"}},
		}
		for i := range t.Trace.Peers {
			section.Columns = append(section.Columns, reports.SheetColumn{Title: fmt.Sprintf("peer %d then", i)})
		}
		for i, s := range t.Trace.Steps {
			section.Rows = append(section.Rows, append([]string{strconv.Itoa(i + 1), strconv.Itoa(s.Peer), s.Text}, s.Peers...))
		}
		page.Sections = append(page.Sections, section)
	}
	return reports.WriteSheet(path, page)
}
