package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Markdown writes report.md: the grid, the four lines, one table of figures, links.
func Markdown(w io.Writer, f result.File, say *lang.Lang, o Options) error {
	v := Of(say, f, o)
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	line("# locklab: %s\n", table.Escape(v.Head))
	var facts []string
	for _, row := range v.Facts().Rows[:min(len(v.Facts().Rows), 7)] { // the page has the machine and the versions
		if len(row[1].Text) < 200 { // and the loads of a suite
			facts = append(facts, table.Escape(row[0].Text+" "+row[1].Text))
		}
	}
	line("%s\n", strings.Join(facts, ", "))
	show := func(t table.Table) {
		if len(t.Rows) > 0 {
			_ = table.Markdown(&out, t) // a builder takes everything
			line("")
		}
	}
	show(v.Claims())
	for i, t := range v.Grids {
		if len(v.Grids) > 1 {
			t.Title = v.workloads()[i]
		}
		show(t)
	}
	list := func(lines ...string) {
		for _, text := range lines {
			if text != "" {
				line("- %s", table.Escape(text))
			}
		}
	}
	list(v.Legend...)
	list(v.CutOff)
	list(v.some("! ", v.Unexpected)...)
	list(v.some("", v.Warnings)...)
	line("")
	for _, a := range v.Answers {
		line("- **%s**: %s", table.Escape(a.Label), table.Escape(a.Text))
	}
	list(v.Lab, v.Took)
	line("")
	show(v.compared())
	line("%s", say.Text("More: [the page](index.html), [every figure](results.csv), [the result](result.json)."))
	_, err := io.WriteString(w, out.String())
	return err
}

// CSV writes one line for each run, with every figure in full precision.
func CSV(w io.Writer, f result.File) error {
	t := table.Table{Columns: table.Heads("run", "lock", "scenario", "workload", "repeat", "seed", "as", "why", "sound",
		"sound_code", "safety", "safety_code", "liveness", "partial", "measured_ms", "history")}
	for _, fig := range result.Figures() {
		t.Columns = append(t.Columns, table.Column{Title: fig.Name})
	}
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	for _, r := range f.Rows {
		s := r.Verdict
		row := table.Row(f.Run.ID, r.Lock, r.Scenario, r.Workload, strconv.Itoa(r.Repeat), strconv.FormatUint(r.Seed, 10),
			string(s.As), string(s.Why.Code),
			string(s.Sound.State), string(s.Sound.Code), string(s.Safety.State), string(s.Safety.Code), s.Word,
			strconv.FormatBool(r.Partial), number(r.MeasuredMS), r.History)
		for _, fig := range result.Figures() {
			var c table.Cell
			if n, known := r.Of(fig.Name); known {
				c.Text = number(n)
			}
			row = append(row, c)
		}
		t.Rows = append(t.Rows, row)
	}
	return table.CSV(w, t)
}
