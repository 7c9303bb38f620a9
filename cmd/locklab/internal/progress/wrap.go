package progress

import (
	"fmt"
	"strings"

	"locklab/reports/table"
)

// Wrap breaks text between words into lines of at most width columns, those after the first
// with an indent. A word that is longer stays whole.
func Wrap(text string, width, indent int) string {
	return strings.Join(table.Wrap(strings.Join(strings.Fields(text), " "), width, indent), "\n")
}

// Plural writes "1 room" and "2 rooms".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
