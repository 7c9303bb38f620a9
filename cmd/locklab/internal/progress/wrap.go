package progress

import (
	"fmt"
	"strings"

	"locklab/reports/table"
)

// Wrap breaks text between words into lines of at most width columns, those after the first
// with an indent. A word that is longer stays whole.
func Wrap(text string, width, indent int) string {
	var out strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		n := table.Columns(word)
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

// Plural writes "1 room" and "2 rooms".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
