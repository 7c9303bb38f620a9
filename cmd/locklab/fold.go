package main

import (
	"io"
	"regexp"
	"strings"

	"locklab/cmd/locklab/internal/progress"
	"locklab/reports"
)

// folded is text for w: on a terminal its lines are broken between words.
func folded(w io.Writer, text string) string {
	width, terminal := progress.Width(w)
	if !terminal {
		return text
	}
	return fold(text, width)
}

// fold breaks lines that are wider than width between words. What goes on stands below where
// the last column of its line begins, if that leaves it a third of the width.
func fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if reports.Columns(line) <= width {
			continue
		}
		at := 0
		for _, gap := range regexp.MustCompile(` {2,}`).FindAllStringIndex(line, -1) {
			if reports.Columns(line[:gap[1]]) <= width*2/3 {
				at = gap[1]
			}
		}
		if at == 0 {
			lines[i] = reports.Wrap(line, width, 2)
			continue
		}
		indent := reports.Columns(line[:at])
		below := reports.Wrap(line[at:], width-indent, 0)
		lines[i] = line[:at] + strings.ReplaceAll(below, "\n", "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(lines, "\n")
}
