package compare

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"locklab/internal/atomicfile"
	"locklab/reports/compare/stats"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/result"
)

// Table has one line for each lock, scenario and figure: those that differ, or all of them.
func Table(say *lang.Lang, names []string, ds []Difference, all bool) table.Table {
	t := table.Table{Columns: table.Heads("="+say.Text("lock"), "="+say.Text("scenario"), "="+say.Text("figure"),
		names[0]+">", names[len(names)-1]+">", say.Text("change")+">", "")}
	several := len(names) > 2
	workloads := map[string]bool{}
	for i := range ds {
		workloads[ds[i].Workload] = true
	}
	if several {
		t.Columns[3].Title, t.Columns[4].Title = say.Text("before"), say.Text("after")
	}
	for i := range ds {
		d := &ds[i]
		outcome := d.Outcome()
		if !all && outcome == SideBySide {
			continue
		}
		lock, scenario := d.Lock, d.Scenario
		if several {
			lock = names[d.Run] + ": " + lock
		}
		if len(workloads) > 1 {
			scenario += ", " + d.Workload
		}
		t.Rows = append(t.Rows, table.Row(table.Plain(lock), table.Plain(scenario), d.Figure.Name,
			d.Before.text(d.Figure), d.After.text(d.Figure), change(say, d), say.Term(string(outcome))))
	}
	return t
}

// text is the median, with its interval if there are repeats.
func (s Sample) text(f result.Figure) string {
	text := table.Figure(f, s.Median)
	if s.N > 1 {
		text += " (" + table.Figure(f, s.Low) + " to " + table.Figure(f, s.High) + ")"
	}
	return text
}

// change says by how much a figure changed; "" if no difference is claimed.
func change(say *lang.Lang, d *Difference) string {
	by := d.After.Median - d.Before.Median
	switch {
	case d.Outcome() == SideBySide:
		return ""
	case d.Figure.As == result.Share:
		return say.Sprintf("%s points", fmt.Sprintf("%+.1f", 100*by))
	case d.Before.Median == 0:
		return say.Text("from 0")
	}
	return fmt.Sprintf("%+.0f%%", 100*by/math.Abs(d.Before.Median))
}

// Said says in lines how a comparison ended.
func Said(say *lang.Lang, files []result.File, names []string, ds []Difference) (lines []string) {
	differ, tests, repeats := 0, 0, math.MaxInt // of the sample that has the fewest
	for i := range ds {
		if ds[i].Outcome() != SideBySide {
			differ++
		}
		if ds[i].Tested {
			tests, repeats = tests+1, min(repeats, ds[i].Before.N, ds[i].After.N)
		}
	}
	switch {
	case tests == 0:
		lines = append(lines, say.Text("No difference is claimed without repeats of both (--repeat)."))
	case differ == 0 && repeats < stats.Fewest(tests):
		lines = append(lines, say.Sprintf("No difference is claimed: %d repeats show nothing among %d tests, %d may.",
			repeats, tests, stats.Fewest(tests)))
	default:
		lines = append(lines, say.Sprintf("%d of %d figures differ (Mann-Whitney with Holm, 95 %%).", differ, tests))
	}
	for i := 1; i < len(files); i++ {
		for _, m := range mismatches(files[0].Run, files[i].Run) {
			text := say.Sprintf("%s: %s was %s, is %s", names[i], m.Name, m.Was, m.Is)
			if m.Refuses {
				text += say.Text("; so nothing is claimed")
			}
			lines = append(lines, table.Plain(text))
		}
	}
	return lines
}

// Write writes the pages, the Markdown and the CSV of a comparison of runs into a directory.
func Write(dir string, files []result.File, names []string) error {
	ds := Runs(files)
	for _, say := range lang.All() {
		said := Said(say, files, names, ds)
		shown, all := Table(say, names, ds, false), Table(say, names, ds, true)
		sheet := view.Sheet{
			Title:    say.Sprintf("%s against %s", strings.Join(names[1:], ", "), names[0]),
			Lede:     strings.Join(said, " "),
			Sections: []view.Section{{Title: say.Text("side by side"), Table: all}},
		}
		if len(shown.Rows) > 0 {
			sheet.Sections = slices.Insert(sheet.Sections, 0, view.Section{Title: say.Text("differences"), Table: shown})
		}
		html, err := sheet.HTML(say)
		if err != nil {
			return err
		}
		var md bytes.Buffer
		fmt.Fprintf(&md, "# %s\n\n- %s\n", table.Escape(sheet.Title), strings.Join(said, "\n- "))
		for _, s := range sheet.Sections {
			fmt.Fprintf(&md, "\n## %s\n\n", s.Title)
			if err := table.Markdown(&md, s.Table); err != nil {
				return err
			}
		}
		for name, data := range map[string][]byte{view.PageFile: html, "report.md": md.Bytes()} {
			if err := atomicfile.Write(filepath.Join(dir, view.FileIn(say, name)), data); err != nil {
				return err
			}
		}
	}
	var csv bytes.Buffer
	if err := table.CSV(&csv, Table(lang.English(), names, ds, true)); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, "results.csv"), csv.Bytes())
}

// Names are the names of the runs' directories, numbered where two are equal.
func Names(dirs []string) (names []string) {
	for i, dir := range dirs {
		name := table.Plain(filepath.Base(filepath.Clean(dir)))
		if slices.Contains(names, name) {
			name = fmt.Sprintf("%s (%d)", name, i+1)
		}
		names = append(names, name)
	}
	return names
}
