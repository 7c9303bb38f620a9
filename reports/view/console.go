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

// Lines that a first screen has at most of what may have many.
const mostLines = 5

// screen lays out text for a console. Paragraphs are set apart by an empty line.
type screen struct {
	out   strings.Builder
	width int
}

// Console writes the first screen.
func Console(w io.Writer, f result.File, say *lang.Lang, o Options) error {
	s := newScreen(o)
	Of(say, f, o).first30(s)
	_, err := io.WriteString(w, s.out.String())
	return err
}

// Full writes the first screen, and then every figure.
func Full(w io.Writer, f result.File, say *lang.Lang, o Options) error {
	s := newScreen(o)
	v := Of(say, f, o)
	v.first30(s)
	for _, t := range append(v.ByScenario(), v.Faults(), v.Machines(), v.Nodes()) {
		if len(t.Rows) > 0 {
			s.table(t)
		}
	}
	_, err := io.WriteString(w, s.out.String())
	return err
}

func newScreen(o Options) *screen {
	if o.Width <= 0 {
		o.Width = 80
	}
	return &screen{width: max(o.Width, 40)}
}

// first30 are the lines of the first screen: at most 30 for the headline.
func (v *View) first30(s *screen) {
	v.begin(s)
	for i, t := range v.Grids {
		if len(v.Grids) > 1 {
			t.Title = v.workloads()[i] + ":"
		}
		s.table(t)
	}
	v.below(s, mostLines)
	var answers []string
	for _, a := range v.Answers {
		answers = append(answers, s.labelled(a.Label, 19, a.Text)...)
	}
	s.paragraph(answers...)
	v.end(s)
}

// begin is the first line: how much was run, and the seed at the right.
func (v *View) begin(s *screen) {
	room := s.width - table.Columns(v.Seed) - 2
	s.paragraph(pad(table.Clip("locklab: "+v.Head, room), room) + "  " + v.Seed)
}

// below are the lines that explain the grid.
func (v *View) below(s *screen, most int) {
	var lines []string
	legend := v.Legend
	if len(legend) > 1 {
		first := pad(legend[0], 28) + "  " + legend[1]
		if table.Columns(first) <= s.width {
			legend = append([]string{first}, legend[2:]...)
		}
	}
	for _, text := range legend {
		lines = append(lines, s.wrap(text, 2)...)
	}
	if v.CutOff != "" {
		lines = append(lines, s.wrap(v.CutOff, 2)...)
	}
	lines = append(lines, v.some("! ", v.Unexpected, most)...)
	lines = append(lines, v.some("", v.Warnings, most)...)
	s.paragraph(lines...)
}

// some are the first lines of several, and how many there are besides.
func (v *View) some(mark string, lines []string, most int) (told []string) {
	for i, text := range lines {
		if i == most {
			return append(told, mark+v.say.Sprintf("and %d more on the page", len(lines)-i))
		}
		told = append(told, mark+text)
	}
	return told
}

// end says how the lab did, and what to run next.
func (v *View) end(s *screen) {
	var lines []string
	line := func(label, text, note string, column int) {
		switch {
		case text == "" && note == "":
		case note == "":
			lines = append(lines, s.labelled(label, 7, text)...)
		default:
			begin := pad(label, 5) + "  " + text
			lines = append(lines, pad(begin, min(column, s.width-table.Columns(note))-2)+"  "+note)
		}
	}
	suggestion := func(label string, of Suggestion) {
		if of.Command != "" {
			line(label, of.Command, "("+of.For+")", 50)
		}
	}
	line(v.say.Text("lab"), v.Lab, "", 0)
	suggestion(v.say.Text("why"), v.Why)
	suggestion(v.say.Text("next"), v.Next)
	line(v.say.Text("full"), v.o.Page, v.Took, 64)
	s.paragraph(lines...)
}

// paragraph writes lines, each in the width of the console.
func (s *screen) paragraph(lines ...string) {
	if len(lines) == 0 {
		return
	}
	if s.out.Len() > 0 {
		s.out.WriteByte('\n')
	}
	for _, text := range lines {
		fmt.Fprintln(&s.out, table.Clip(table.Plain(strings.TrimRight(text, " ")), s.width))
	}
}

func (s *screen) table(t table.Table) {
	if s.out.Len() > 0 {
		s.out.WriteByte('\n')
	}
	if len(t.Rows) > 0 {
		_ = table.Console(&s.out, t, s.width) // a builder takes everything
	}
}

// labelled is a text behind its label, over at most two lines.
func (s *screen) labelled(label string, column int, text string) []string {
	lines := s.wrap(pad(label, column-2)+"  "+text, column)
	if len(lines) > 2 {
		lines = append(lines[:1], table.Clip(lines[1]+" …", s.width))
	}
	return lines
}

// wrap breaks a text between words, with an indent before all lines but the first.
func (s *screen) wrap(text string, indent int) (lines []string) {
	line := ""
	for _, word := range strings.SplitAfter(text, " ") {
		if strings.TrimSpace(line) != "" && table.Columns(line)+table.Columns(strings.TrimRight(word, " ")) > s.width {
			lines = append(lines, line)
			line = strings.Repeat(" ", indent)
		}
		line += word
	}
	return append(slices.Clip(lines), line)
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-table.Columns(text), 0))
}
