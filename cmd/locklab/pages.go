package main

import (
	"fmt"
	"html/template"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"locklab/reports/page"
	"locklab/reports/sweep"
	"locklab/reports/table"
	"locklab/verify/explore"
	"locklab/verify/sim"
)

// typed is the command of this process.
func typed() string { return strings.Join(append([]string{"locklab"}, os.Args[1:]...), " ") }

const sweepCSV = "sweep.csv beside this page has them with all digits; medians (what half of all do not exceed) and p99 come from histograms and are up to 0.4 % too high"

// writeSweepPage writes a sweep as one page: a plot of each figure, then the tables.
func writeSweepPage(path, lock string, points []sim.Point, drawn []sweep.Point, seed uint64) error {
	sheet := page.Sheet{
		Title: fmt.Sprintf("%s against the number of peers", lock), Lede: fmt.Sprintf("Simulated in virtual time, seed %d", seed), Made: typed(),
		Facts: []page.Fact{{Name: "all points", Lines: []string{sweepCSV}}},
	}
	shown := page.Section{Title: "What it shows"}
	for _, zones := range sweepZones() {
		for _, text := range crossings(points, lock, zones) {
			shown.Notes = append(shown.Notes, fmt.Sprintf("%d zones", zones)+": "+text+".")
		}
	}
	shown.Notes = append(shown.Notes, clearlyText())
	sheet.Sections = append(sheet.Sections, shown)
	for _, f := range sweep.Figures() {
		sheet.Sections = append(sheet.Sections, page.Section{Title: upper(f.Title), Drawing: sweep.Draw(f, drawn)})
	}
	var columns []table.Column
	for i, title := range []string{
		"lock", "peers", "messages, nobody else", "messages, up to ten want it",
		"acquire, nobody else, median, ms", "acquire, nobody else, p99, ms", "acquire, up to ten want it, median, ms",
		"acquire, up to ten want it, p99, ms", "release to next holder, mean, ms", "release to next holder, p99, ms",
	} {
		columns = append(columns, table.Column{Title: title, Key: i == 0, Right: i > 0})
	}
	for _, zones := range sweepZones() {
		sheet.Sections = append(sheet.Sections, page.Section{
			Title: fmt.Sprintf("All figures with %d zones", zones), Table: table.Table{Columns: columns, Rows: tableCells(sweepRows(points, zones))},
		})
	}
	return page.WriteSheet(path, sheet)
}

// writePage writes an exploration as one page: the verdict, what was explored, and the way
// to a violation as a drawing and as a table.
func (t tale) writePage(path string) error {
	sheet := page.Sheet{
		Title: fmt.Sprintf("%s, explored", t.Spec), Lede: t.scope(), Made: typed(),
		Verdict: page.Verdict{Text: t.conclusion(), Good: t.Ended == explore.Complete, Bad: t.Ended == explore.Violated},
		Facts: []page.Fact{
			{Name: "modelled", Lines: t.modelled()},
			{Name: "checked", Lines: t.checks()},
			{Name: "seen", Lines: t.seen()},
		},
	}
	if t.Trace != nil {
		var drawing strings.Builder
		if err := t.Trace.WriteSVG(&drawing, t.Spec, t.Violation); err != nil {
			return err
		}
		section := page.Section{
			Title: "The shortest way to the violation", Drawing: template.HTML(drawing.String()), //nolint:gosec // drawn and escaped by explore
			Notes: []string{
				"Time runs downwards, one step a line. An arrow is a message, from the step that sent it to the step in which it arrives. A box is what a peer has become; its line is thick while it waits, and thickest while it holds the lock.",
				"A step is one thing that happens at one peer: its client asks for the lock or releases it, a message arrives (its name, and what it carries), or something breaks.",
			},
			Table: table.Table{Columns: []table.Column{{Title: "step", Key: true}, {Title: "at peer", Right: true}, {Title: "what happens"}}},
		}
		for i := range t.Trace.Peers {
			section.Table.Columns = append(section.Table.Columns, table.Column{Title: fmt.Sprintf("peer %d after it", i)})
		}
		var rows [][]string
		for i, s := range t.Trace.Steps {
			rows = append(rows, append([]string{strconv.Itoa(i + 1), strconv.Itoa(s.Peer), s.Text}, s.Peers...))
		}
		section.Table.Rows = tableCells(rows)
		sheet.Sections = append(sheet.Sections, section)
	}
	return page.WriteSheet(path, sheet)
}

// tableCells are rows of texts for a table.
func tableCells(rows [][]string) [][]table.Cell {
	all := make([][]table.Cell, len(rows))
	for i, row := range rows {
		for _, text := range row {
			all[i] = append(all[i], table.Cell{Text: text})
		}
	}
	return all
}

// upper makes the first letter of a title a capital.
func upper(title string) string {
	first, size := utf8.DecodeRuneInString(title)
	return string(unicode.ToUpper(first)) + title[size:]
}
