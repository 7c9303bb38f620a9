package main

import (
	"io"
	"regexp"
	"strings"

	"locklab/cmd/locklab/internal/progress"
	"locklab/reports/table"
)

// folded is text for w: on a terminal its lines are broken between words.
func folded(w io.Writer, text string) string {
	width, terminal := progress.Width(w)
	if !terminal {
		return text
	}
	return fold(text, width)
}

// widthOf is how many columns there are to write in: as every terminal has, if w is none.
func widthOf(w io.Writer) int {
	if width, terminal := progress.Width(w); terminal {
		return width
	}
	return progress.Columns
}

// fold breaks lines that are wider than width between words. What goes on stands below where
// the last column of its line begins, if that leaves it a third of the width; of a line that
// is indented and has no columns, a little to the right of its beginning.
func fold(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if table.Columns(line) <= width {
			continue
		}
		at, hang := 0, 0
		for _, gap := range regexp.MustCompile(` {2,}`).FindAllStringIndex(line, -1) {
			if table.Columns(line[:gap[1]]) <= width*2/3 {
				at, hang = gap[1], 0
				if gap[0] == 0 {
					hang = 2
				}
			}
		}
		if at == 0 {
			lines[i] = progress.Wrap(line, width, 2)
			continue
		}
		indent := table.Columns(line[:at])
		below := progress.Wrap(line[at:], width-indent, hang)
		lines[i] = line[:at] + strings.ReplaceAll(below, "\n", "\n"+strings.Repeat(" ", indent))
	}
	return strings.Join(lines, "\n")
}

// foldCommand is a line with a command after a prefix, in at most width columns (0: any number):
// broken as a shell takes it, so that it can be copied.
func foldCommand(prefix, command string, width int) string {
	if width == 0 || table.Columns(prefix+command) <= width {
		return prefix + command
	}
	const goesOn = ` \`
	indent := table.Columns(prefix)
	lines := progress.Wrap(command, width-indent-len(goesOn), 0)
	return prefix + strings.ReplaceAll(lines, "\n", goesOn+"\n"+strings.Repeat(" ", indent))
}
