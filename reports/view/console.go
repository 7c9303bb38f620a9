package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// mostLines bounds each kind of warning on the first screen.
const mostLines = 5

// screen lays out text for a console, with an empty line between paragraphs.
type screen struct {
	out   strings.Builder
	width int
}

// Console writes the first screen.
func Console(w io.Writer, f result.File, say *lang.Lang, o Options) error {
	return onScreen(w, o, func(s *screen) { Of(say, f, o).top(s) })
}

// Full writes the first screen, and then every figure.
func Full(w io.Writer, f result.File, say *lang.Lang, o Options) error {
	return onScreen(w, o, func(s *screen) {
		v := Of(say, f, o)
		v.top(s)
		for _, t := range append(v.Figures(), v.Faults()) {
			s.table(t)
		}
	})
}

func onScreen(w io.Writer, o Options, draw func(*screen)) error {
	if o.Width <= 0 {
		o.Width = 80
	}
	s := &screen{width: max(o.Width, 40)}
	draw(s)
	_, err := io.WriteString(w, s.out.String())
	return err
}

// top writes the first screen: at most 30 lines for the headline.
func (v *View) top(s *screen) {
	v.begin(s)
	for i, t := range v.Grids {
		if len(v.Grids) > 1 {
			t.Title = v.workloads()[i] + ":"
		}
		s.table(t)
	}
	legend := slices.Clone(v.Legend)
	if len(legend) > 1 {
		if pair := table.Pad(legend[0], 28) + "  " + legend[1]; table.Columns(pair) <= s.width {
			legend = slices.Replace(legend, 0, 2, pair)
		}
	}
	var lines []string
	for _, text := range append(legend, v.CutOff) {
		if text != "" {
			lines = append(lines, s.wrap(text, 2)...)
		}
	}
	s.paragraph(slices.Concat(lines, v.some("! ", v.Unexpected), v.some("", v.Warnings))...)
	var answers []string
	for _, a := range v.Answers {
		answers = append(answers, s.labelled(a.Label, 19, a.Text)...)
	}
	s.paragraph(answers...)
	v.end(s)
}

// begin writes the first line: how much was run and, if it fits at the right, the seed.
func (v *View) begin(s *screen) {
	title := "locklab: " + v.Head
	if v.seedBeside(s) {
		title = table.Pad(title, s.width-table.Columns(v.Seed)) + v.Seed
	}
	s.paragraph(title)
}

func (v *View) seedBeside(s *screen) bool {
	return table.Columns("locklab: "+v.Head+"  "+v.Seed) <= s.width
}

// some returns the first of several lines, and the number of the others.
func (v *View) some(mark string, lines []string) (told []string) {
	for i, text := range lines {
		if i == mostLines {
			return append(told, mark+v.say.Sprintf("and %d more on the page", len(lines)-i))
		}
		told = append(told, mark+text)
	}
	return told
}

// end writes the last lines: lab, why, next and full.
func (v *View) end(s *screen) {
	lab := v.Lab
	if !v.seedBeside(s) {
		lab = strings.TrimSuffix(v.Seed+", "+lab, ", ")
	}
	lines := s.labelled(v.say.Text("lab"), 7, lab)
	line := func(label, text, note string, column int) {
		begin := table.Pad(label, 7) + text
		switch {
		case text == "" && note == "":
		case table.Columns(begin+"  "+note) > s.width:
			lines = append(lines, s.labelled(label, 7, text+" "+note)...)
		default:
			lines = append(lines, table.Pad(begin, min(column, s.width-table.Columns(note))-2)+"  "+note)
		}
	}
	line(v.say.Text("why"), v.Why.Command, v.Why.note(), 50)
	line(v.say.Text("next"), v.Next.Command, v.Next.note(), 50)
	line(v.say.Text("full"), v.o.Page, v.Took, 64)
	s.paragraph(lines...)
}

func (s Suggestion) note() string {
	if s.Command == "" {
		return ""
	}
	return "(" + s.For + ")"
}

// paragraph writes lines, each clipped to the width of the console.
func (s *screen) paragraph(lines ...string) {
	if len(lines) > 0 && s.out.Len() > 0 {
		s.out.WriteByte('\n')
	}
	s.lines(lines...)
}

func (s *screen) lines(lines ...string) {
	for _, text := range lines {
		fmt.Fprintln(&s.out, table.Clip(table.Plain(strings.TrimRight(text, " ")), s.width))
	}
}

func (s *screen) table(t table.Table) {
	if len(t.Rows) > 0 {
		s.out.WriteByte('\n')
		_ = table.Console(&s.out, t, s.width) // a builder takes everything
	}
}

// labelled is a text behind its label, on at most two lines; none without text.
func (s *screen) labelled(label string, column int, text string) []string {
	if text == "" {
		return nil
	}
	lines := s.wrap(table.Pad(label, column-2)+"  "+text, column)
	if len(lines) > 2 {
		lines = append(lines[:1], table.Clip(lines[1]+" …", s.width))
	}
	return lines
}

func (s *screen) wrap(text string, indent int) []string { return table.Wrap(text, s.width, indent) }
