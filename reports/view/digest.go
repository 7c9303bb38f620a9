package view

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Digest writes the result of a suite: a matrix of locks and scenarios for each workload, how often
// repeated runs violated safety, and the claims.
func Digest(w io.Writer, f result.File, say *lang.Lang, o Options) error {
	return onScreen(w, o, func(s *screen) {
		v := Of(say, f, o)
		v.begin(s)
		for _, workload := range v.workloads() {
			s.table(v.matrix(workload))
			var keys []string
			for i, name := range v.scenarios(workload) {
				keys = append(keys, fmt.Sprintf("%d %s", i+1, name))
			}
			s.lines(s.wrap(strings.Join(keys, ", "), 2)...)
		}
		const glyphs = "✗ a violation; ■ an outage of a second: s stalls, d down, x dead, z of one zone; " +
			"? undecided; - does not apply; ! not as expected"
		s.paragraph(s.wrap(say.Text(glyphs), 2)...)
		var unexpected, claims []string
		for _, text := range v.Unexpected {
			unexpected = append(unexpected, s.wrap("! "+text, 2)...)
		}
		for _, c := range v.Claims().Rows {
			claims = append(claims, s.wrap(fmt.Sprintf("%s: %s (%s) [%s]", c[0], c[1], c[2], c[3]), 2)...)
		}
		s.paragraph(unexpected...)
		s.table(v.repeats())
		s.paragraph(claims...)
		v.end(s)
	})
}

// matrix is a workload's grid with a glyph a cell, and a number a scenario.
func (v *View) matrix(workload string) table.Table {
	head := func(i int, _ string) table.Column {
		return table.Column{Title: table.Pad(strconv.Itoa(i+1), 3), Right: true}
	}
	words := map[result.Code]string{result.IsStalls: "s", result.IsDown: "d", result.IsDead: "x", "": "z"}
	t := v.across(workload, head, func(k result.Key) table.Cell {
		c, out := v.cell(k), v.gridCell(k)
		if c == nil {
			return out
		}
		out.Text = ""
		if c.mark == table.Outage {
			out.Text = words[c.Worst().Verdict.Liveness.Code]
		}
		return table.Cell{Text: table.Pad(strings.ReplaceAll(out.String(), " ", ""), 3)}
	})
	t.Title = workload + ":"
	return t
}

// repeats counts the violated runs of each cell that was run several times.
func (v *View) repeats() table.Table {
	t := table.Table{Columns: table.Heads(v.say.Titles("=lock", "=scenario", "expected", "violated>", "decided>",
		"runs>")...)}
	for _, c := range v.cells {
		if len(c.Rows) < 2 {
			continue
		}
		seen, decided, want := 0, 0, ""
		for _, r := range c.Rows {
			if _, open := undecided(r); !open {
				decided++
			}
			if r.Decided() && r.Verdict.Safety.State == result.Failed {
				seen++
			}
			want = cmp.Or(want, r.Expected.Safety)
		}
		t.Rows = append(t.Rows, table.Row(c.Lock, c.Scenario, v.say.Term(want),
			strconv.Itoa(seen), strconv.Itoa(decided), strconv.Itoa(len(c.Rows))))
	}
	return t
}
