package table

import (
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// gap is how many columns are between two cells; cell is the least width of a marked one.
const (
	gap  = 2
	cell = 9
)

// Console writes the table for a console of that width. A wider table is broken into parts, one below the other,
// each with the key columns.
func Console(w io.Writer, t Table, width int) error {
	var out strings.Builder
	if t.Title != "" {
		out.WriteString(Clip(Plain(t.Title), width) + "\n")
	}
	var keys []int
	for i, c := range t.Columns {
		if c.Key {
			keys = append(keys, i)
		}
	}
	need := t.needs(width, len(keys))
	sum := func(columns []int) (total int) {
		for _, i := range columns {
			total += need[i]
		}
		return total - gap
	}
	part := slices.Clip(keys)
	for i, c := range t.Columns {
		if !c.Key && len(part) > len(keys) && sum(part)+need[i] > width {
			t.part(&out, part, need, width)
			out.WriteByte('\n')
			part = slices.Clip(keys)
		}
		if !c.Key {
			part = append(part, i)
		}
	}
	t.part(&out, part, need, width)
	_, err := io.WriteString(w, out.String())
	return err
}

// needs is the least width of each column, with the gap behind it.
func (t Table) needs(width, keys int) []int {
	need := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		limit := width - gap
		if c.Key {
			limit = width / 2 / keys
		}
		for line := range strings.SplitSeq(c.Title, "\n") {
			need[i] = max(need[i], Columns(Plain(line)))
		}
		for _, row := range t.Rows {
			if i < len(row) {
				need[i] = max(need[i], Columns(row[i].String()))
			}
		}
		need[i] = min(need[i], limit) + gap
	}
	return need
}

// part writes some of the columns. Columns of marks are widened to cell where the console has room: those that
// were widened most give way first.
func (t Table) part(out *strings.Builder, columns, need []int, width int) {
	widths, total, lines := map[int]int{}, -gap, 1
	for _, i := range columns {
		widths[i] = need[i]
		if c := t.Columns[i]; !c.Key && !c.Right {
			widths[i] = max(need[i], cell+gap)
		}
		total += widths[i]
		lines = max(lines, 1+strings.Count(t.Columns[i].Title, "\n"))
	}
	for ; total > width; total-- {
		narrow := columns[0]
		for _, i := range columns {
			if widths[i]-need[i] > widths[narrow]-need[narrow] {
				narrow = i
			}
		}
		if widths[narrow] <= need[narrow] {
			break
		}
		widths[narrow]--
	}
	line := func(text func(i int) string) {
		var b strings.Builder
		for _, i := range columns {
			cell := Clip(text(i), max(widths[i]-gap, 1))
			if t.Columns[i].Right {
				cell = strings.Repeat(" ", max(widths[i]-gap-Columns(cell), 0)) + cell
			}
			b.WriteString(Pad(cell, widths[i]))
		}
		out.WriteString(Clip(strings.TrimRight(b.String(), " "), width) + "\n")
	}
	for n := range lines {
		line(func(i int) string {
			title := strings.Split(t.Columns[i].Title, "\n")
			if at := n - (lines - len(title)); at >= 0 {
				return Plain(title[at])
			}
			return ""
		})
	}
	for _, row := range t.Rows {
		line(func(i int) string {
			if i < len(row) {
				return row[i].String()
			}
			return ""
		})
	}
}

// Columns is how wide text is on a console, where a letter of Korean takes two columns.
func Columns(text string) int { return (&runewidth.Condition{}).StringWidth(text) }

// Wrap breaks text between words into lines of at most that width, and indents all but the first.
func Wrap(text string, width, indent int) (lines []string) {
	line := ""
	for _, word := range strings.SplitAfter(text, " ") {
		if strings.TrimSpace(line) != "" && Columns(line)+Columns(strings.TrimRight(word, " ")) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", indent)
		}
		line += word
	}
	return append(lines, strings.TrimRight(line, " "))
}

// Pad fills text up to that many columns.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-Columns(text), 0))
}

// Clip cuts text to at most that width.
func Clip(text string, width int) string {
	return (&runewidth.Condition{}).Truncate(text, width, "…")
}
