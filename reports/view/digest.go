package view

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Digest writes the result of a suite: of each workload a matrix of its locks and scenarios, of what
// was repeated how often a violation was seen, and the claims.
func Digest(w io.Writer, f result.File, say *lang.Lang, o Options) error {
	s := newScreen(o)
	v := Of(say, f, o)
	v.begin(s)
	for _, workload := range v.workloads() {
		s.table(v.matrix(workload))
		s.keys(v.scenarios(workload))
	}
	s.paragraph(s.wrap(say.Text("✗ a violation; ■ an outage of a second: s stalls, d down, x dead, z of one zone; ? undecided; - does not apply; ! not as expected"), 2)...)
	var lines []string
	for _, text := range v.Unexpected {
		lines = append(lines, s.wrap("! "+text, 2)...)
	}
	s.paragraph(lines...)
	if t := v.repeats(); len(t.Rows) > 0 {
		s.table(t)
	}
	lines = nil
	for _, c := range v.Claims().Rows {
		lines = append(lines, s.wrap(fmt.Sprintf("%s: %s (%s) [%s]", c[0], c[1], c[2], c[3]), 2)...)
	}
	s.paragraph(lines...)
	v.end(s)
	_, err := io.WriteString(w, s.out.String())
	return err
}

// matrix is a workload's grid with a glyph a cell, and a number a scenario.
func (v *View) matrix(workload string) table.Table {
	t := table.Table{Title: workload + ":", Columns: heads("=" + v.say.Text("lock"))}
	scenarios := v.scenarios(workload)
	for i := range scenarios {
		t.Columns = append(t.Columns, table.Column{Title: pad(strconv.Itoa(i+1), 3), Right: true})
	}
	for _, lock := range v.locks(workload) {
		row := cellsOf(lock)
		for _, s := range scenarios {
			k := result.Key{Lock: lock, Scenario: s.Name, Workload: workload}
			out := v.gridCell(k)
			if c := v.cell(k); c != nil {
				out.Text = ""
				if c.mark == table.Outage {
					out.Text = map[result.Code]string{result.IsStalls: "s", result.IsDown: "d", result.IsDead: "x", "": "z"}[c.code]
				}
				out = table.Cell{Text: pad(strings.ReplaceAll(out.String(), " ", ""), 3)}
			}
			row = append(row, out)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// keys says which scenario has which number.
func (s *screen) keys(scenarios []result.Scenario) {
	var parts []string
	for i, sc := range scenarios {
		parts = append(parts, fmt.Sprintf("%d %s", i+1, sc.Name))
	}
	for _, line := range s.wrap(strings.Join(parts, ", "), 2) {
		fmt.Fprintln(&s.out, table.Clip(table.Plain(strings.TrimRight(line, " ")), s.width))
	}
}

// repeats are how often a violation was seen in what was run several times.
func (v *View) repeats() table.Table {
	t := table.Table{Columns: heads("="+v.say.Text("lock"), "="+v.say.Text("scenario"), v.say.Text("expected"), v.say.Text("violated")+">", v.say.Text("decided")+">", v.say.Text("runs")+">")}
	for _, c := range v.cells {
		if len(c.Rows) < 2 {
			continue
		}
		seen, decided := 0, 0
		for _, r := range c.Rows {
			if _, open := undecided(r); !open {
				decided++
			}
			if r.Decided() && r.Verdict.Safety.State == result.Failed {
				seen++
			}
		}
		want := ""
		if i := slices.IndexFunc(c.Rows, func(r *result.Row) bool { return r.Expected.Safety != "" }); i >= 0 {
			want = v.say.Term(c.Rows[i].Expected.Safety)
		}
		t.Rows = append(t.Rows, cellsOf(c.Lock, c.Scenario, want, strconv.Itoa(seen), strconv.Itoa(decided), strconv.Itoa(len(c.Rows))))
	}
	return t
}
