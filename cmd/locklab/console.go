package main

import (
	"io"
	"regexp"
	"strings"
	"text/tabwriter"

	json "github.com/go-json-experiment/json/v1"

	"locklab/cmd/locklab/internal/progress"
	"locklab/reports/table"
)

// folded breaks the lines of a text for w between words, if w is a terminal.
func folded(w io.Writer, text string) string {
	if width, terminal := progress.Width(w); terminal {
		return fold(text, width)
	}
	return text
}

// widthOf is how many columns w has.
func widthOf(w io.Writer) int {
	width, _ := progress.Width(w)
	return width
}

// fold breaks lines wider than width between words. It indents the rest to the last column that leaves it a third of
// the width, else a little deeper than the line.
func fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if table.Columns(line) <= width {
			continue
		}
		at, hang := 0, 2
		for _, gap := range regexp.MustCompile(` {2,}`).FindAllStringIndex(line, -1) {
			if table.Columns(line[:gap[1]]) <= width*2/3 {
				at = gap[1]
				if gap[0] > 0 {
					hang = 0
				}
			}
		}
		indent := table.Columns(line[:at])
		below := progress.Wrap(line[at:], width-indent, hang)
		lines[i] = line[:at] + strings.ReplaceAll(below, "\n", "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(lines, "\n")
}

// aligned pads cells to columns. A cell in another language than English may be off.
func aligned(rows [][]string) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(w, strings.Join(row, "\t")+"\n")
	}
	_ = w.Flush() // a builder takes everything
	return out.String()
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
