package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
)

// Summary writes the result for a console: of each lock its figures, the worst over the
// scenarios, with the scenario below them, and then what [Headline] says, broken between
// words. Lines are at most width columns wide (below 60 counts as 60, 0 as 100). Colours
// are besides shapes.
func Summary(w io.Writer, say *lang.Lang, f result.File, width int, colour bool) error {
	if width == 0 {
		width = 100
	}
	width = max(width, 60)
	f = result.Clean(f)
	var out strings.Builder
	for _, a := range answersOf(say, []result.File{f}, nil, []string{""}) {
		writeAnswer(&out, say, a, width, colour)
		fmt.Fprintln(&out)
	}
	for _, text := range Headline(say, f) {
		fmt.Fprintln(&out, Wrap(text, width, 2))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func orAbsent(text string) string {
	if text == "" {
		return absent
	}
	return plain(text)
}

func writeAnswer(out *strings.Builder, say *lang.Lang, a answer, width int, colour bool) {
	const where = 16 // columns for the name of a scenario
	heads := make([]string, len(a.Columns))
	for j, f := range a.Columns {
		heads[j] = say.Term(f.Answer)
	}
	name := Columns(say.Text("lock"))
	widths := make([]int, len(a.Columns))
	for _, r := range a.Rows {
		name = max(name, min(Columns(r.Lock), 40))
		for j, c := range r.Cells {
			widths[j] = max(widths[j], Columns(heads[j]), Columns(shaped(c)), min(Columns(c.Where), where), min(Columns(c.Besides), where), min(Columns(c.Note), where))
		}
	}
	total := name + sum(widths) + len(widths)
	cols := len(widths)
	for ; total > width && cols > 4; cols-- { // the last ones stand in the report
		total -= 1 + widths[cols-1]
	}
	if total > width {
		name = max(name-(total-width), 10)
	}
	for cols > 0 && name+sum(widths[:cols])+cols > width {
		cols--
	}

	over := say.Count(int64(a.Scenarios), "%s: each figure the worst of 1 scenario", "%s: each figure the worst of %s scenarios", a.Workload)
	if a.Fewer {
		over = say.Sprintf("%s: each figure the worst of those of %d scenarios that the lock ran under", a.Workload, a.Scenarios)
	}
	if a.Scenarios == 1 && len(a.Rows) > 0 {
		over = say.Sprintf("%s: 1 scenario", a.Workload)
	}
	fmt.Fprintln(out, plots.Clip(over, width))
	line := func(first string, cell func(int) (text, class string)) {
		var text strings.Builder
		text.WriteString(pad(plots.Clip(first, name), name, true))
		for j := range cols {
			cell, class := cell(j)
			cell = pad(plots.Clip(cell, widths[j]), widths[j], false)
			if colour && class != "" {
				cell = ansi(class) + cell + "\x1b[0m"
			}
			text.WriteString(" " + cell)
		}
		fmt.Fprintln(out, strings.TrimRight(text.String(), " "))
	}
	line(say.Text("lock"), func(j int) (string, string) { return heads[j], "" })
	for _, r := range a.Rows {
		line(r.Lock, func(j int) (string, string) { return shaped(r.Cells[j]), r.Cells[j].Meaning.Class() })
		aside := func(c answerCell) string { return cmp.Or(c.Besides, c.Note) } // no cell has both
		if slices.ContainsFunc(r.Cells[:cols], func(c answerCell) bool { return aside(c) != "" }) {
			line("", func(j int) (string, string) { return aside(r.Cells[j]), r.Cells[j].Meaning.Class() })
		}
		line("", func(j int) (string, string) { return r.Cells[j].Where, "none" })
		var fewer []string
		for j, c := range r.Cells {
			if c.Elsewhere != "" {
				fewer = append(fewer, heads[j]+": "+c.Elsewhere)
			}
		}
		if len(fewer) > 0 {
			fmt.Fprintln(out, "  "+Wrap(strings.Join(fewer, "; "), width-2, 2))
		}
	}
	if cols < len(heads) {
		fmt.Fprintln(out, Wrap(say.Sprintf("Too wide for this console, and in the report: %s.", say.List(heads[cols:])), width, 0))
	}
	fmt.Fprintln(out, Wrap(say.Text(meaningsNote), width, 0))
}

// shaped is a figure with the shape of what it means.
func shaped(c answerCell) string { return c.Meaning.Shape() + " " + c.Value }

// Columns is how wide text is on a console, where a letter of Korean takes two columns.
func Columns(text string) int { return (&runewidth.Condition{}).StringWidth(text) }

func sum(widths []int) (total int) {
	for _, w := range widths {
		total += w
	}
	return total
}

// Wrap breaks text between words into lines of at most width columns, those after the first
// with an indent. A word that is longer stays whole.
func Wrap(text string, width, indent int) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := Columns(word)
		switch {
		case i == 0:
		case column+1+n > width:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			out.WriteByte(' ')
			column++
		}
		out.WriteString(word)
		column += n
	}
	return out.String()
}

func pad(text string, width int, left bool) string {
	gap := strings.Repeat(" ", max(width-Columns(text), 0))
	if left {
		return text + gap
	}
	return gap + text
}

func ansi(class string) string {
	switch class {
	case "ok":
		return "\x1b[32m"
	case "bad":
		return "\x1b[31m"
	case "warn":
		return "\x1b[33m"
	default:
		return "\x1b[2m"
	}
}
