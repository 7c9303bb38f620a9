package main

import (
	"io"
	"slices"
	"strings"

	"locklab/reports/table"
)

// textTable has lines of as many cells each, the first of which are the titles. A letter of Korean
// takes two columns of a console.
type textTable struct {
	rows   [][]string
	left   bool  // its cells begin below each other, in place of ending so
	keys   int   // how many of the first columns say what a line is of
	breaks []int // columns at which it is parted rather than elsewhere
}

func (t *textTable) row(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table. One that is wider than width (0: any) is parted: its last columns
// stand below the first, again with the keys beside them.
func (t *textTable) write(w io.Writer, width int) {
	const gap = 2
	if len(t.rows) == 0 {
		return
	}
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], table.Columns(cell)+gap)
		}
	}
	var out strings.Builder
	for _, part := range t.parts(widths, width) {
		for _, row := range t.rows {
			for k, i := range part {
				room := strings.Repeat(" ", widths[i]-table.Columns(row[i]))
				switch {
				case !t.left:
					out.WriteString(room + row[i])
				case k == len(part)-1:
					out.WriteString(row[i])
				default:
					out.WriteString(row[i] + room)
				}
			}
			out.WriteByte('\n')
		}
	}
	_, _ = io.WriteString(w, out.String()) // writers here take everything, or tell later
}

// parts are the columns that stand side by side: all of them if they fit.
func (t *textTable) parts(widths []int, width int) (all [][]int) {
	sum := func(columns []int) (total int) {
		for _, i := range columns {
			total += widths[i]
		}
		return total
	}
	var every []int
	for i := range widths {
		every = append(every, i)
	}
	if width == 0 || t.left || sum(every) <= width {
		return [][]int{every}
	}
	keys := every[:t.keys:t.keys]
	part := slices.Clone(keys)
	for _, i := range every[t.keys:] {
		if len(part) > t.keys && (slices.Contains(t.breaks, i) || sum(part)+widths[i] > width) {
			all, part = append(all, part), slices.Clone(keys)
		}
		part = append(part, i)
	}
	return append(all, part)
}

// padded fills a word up to so many columns, of which a Korean letter takes two.
func padded(word string, columns int) string {
	return word + strings.Repeat(" ", max(columns-table.Columns(word), 0))
}
