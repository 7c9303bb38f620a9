package reports

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"locklab/reports/result"
)

// TableOption changes how Table writes.
type TableOption func(*tableStyle)

type tableStyle struct{ colour bool }

// WithColour lets Table mark verdicts with ANSI colours besides their words.
func WithColour() TableOption { return func(s *tableStyle) { s.colour = true } }

// Table writes the result for a console, one line for each lock under each
// scenario, aligned and at most width columns wide (below 60 counts as 60, 0 as
// 100). Latencies and stalls are in milliseconds, rates per second.
func Table(w io.Writer, f result.File, width int, options ...TableOption) error {
	style := tableStyle{}
	for _, o := range options {
		o(&style)
	}
	if width == 0 {
		width = 100
	}
	f = result.Clean(f)
	var out strings.Builder
	if len(f.Results) == 0 {
		out.WriteString("No results.\n")
	}
	for _, workload := range workloadsOf(f.Results) {
		rows := byScenario(rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload }))
		writeTable(&out, workload, rows, max(width, 60), style)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// consoleColumn is a column of the console's table. Columns with a higher level
// are left out first when the console is narrow.
type consoleColumn struct {
	title string
	right bool
	level int
	cell  func(result.Row) string
}

func consoleColumns(things thing) []consoleColumn {
	cols := []consoleColumn{
		{"lock", false, 0, func(r result.Row) string { return plain(r.Lock) }},
		{"verdict", false, 0, func(r result.Row) string { s := statusOf(r.Verdict); return s.Shape + " " + s.Word }},
		{"safety", false, 2, func(r result.Row) string { return orAbsent(r.Verdict.Safety) }},
		{"liveness", false, 1, func(r result.Row) string { return orAbsent(r.Verdict.Liveness) }},
	}
	if things.of != nil {
		cols = append(cols, consoleColumn{shortThing(things), true, 0, func(r result.Row) string {
			n, ok := things.of(r)
			if !ok {
				return absent
			}
			return count(n)
		}})
	}
	if things.many == manyDuplicates {
		cols = append(cols, consoleColumn{"unreach.", true, 2, func(r result.Row) string {
			if r.Duplicates == nil {
				return absent
			}
			return count(r.Duplicates.Unreachable)
		}})
	}
	return append(cols,
		consoleColumn{"stall", true, 0, func(r result.Row) string { return figureOf(r.StallMS) }},
		consoleColumn{"p50", true, 1, func(r result.Row) string { return quantile(r, func(q *result.Quantiles) float64 { return q.P50 }) }},
		consoleColumn{"p99", true, 0, func(r result.Row) string { return quantile(r, func(q *result.Quantiles) float64 { return q.P99 }) }},
		consoleColumn{"ok/s", true, 1, func(r result.Row) string { return figure(r.AchievedPerS) }},
		consoleColumn{"of", true, 3, func(r result.Row) string { return figure(r.OfferedPerS) }},
		consoleColumn{"avail.", true, 3, func(r result.Row) string { return percent(r.Availability) }},
	)
}

func shortThing(t thing) string {
	switch t.many {
	case manyDuplicates:
		return "dupl."
	case "stale writes":
		return "stale"
	default:
		return "overlaps"
	}
}

// quantile reads the latency, or the acquire time where the workload is the lock
// itself.
func quantile(r result.Row, of func(*result.Quantiles) float64) string {
	switch {
	case r.LatencyMS != nil:
		return figure(of(r.LatencyMS))
	case r.AcquireMS != nil:
		return figure(of(r.AcquireMS))
	default:
		return absent
	}
}

func orAbsent(text string) string {
	if text == "" {
		return absent
	}
	return plain(text)
}

func writeTable(out *strings.Builder, workload string, rows []result.Row, width int, style tableStyle) {
	things := thingOf(rows)
	cols := consoleColumns(things)
	cells := make([][]string, len(rows))
	widths := make([]int, len(cols))
	for i, c := range cols {
		widths[i] = utf8.RuneCountInString(c.title)
	}
	for i, r := range rows {
		cells[i] = make([]string, len(cols))
		for j, c := range cols {
			cells[i][j] = c.cell(r)
			widths[j] = max(widths[j], utf8.RuneCountInString(cells[i][j]))
		}
	}
	keep := fit(cols, widths, width)

	fmt.Fprintf(out, "%s: %s\n", plain(workload), legend(things))
	var head strings.Builder
	for _, j := range keep {
		head.WriteString("  " + pad(cols[j].title, widths[j], cols[j].right))
	}
	fmt.Fprintln(out, strings.TrimRight(head.String(), " "))
	scenario := ""
	for i, r := range rows {
		if i == 0 || r.Scenario != scenario {
			scenario = r.Scenario
			fmt.Fprintln(out, cut(plain(scenario), width))
		}
		var line strings.Builder
		for _, j := range keep {
			cell := pad(cut(cells[i][j], widths[j]), widths[j], cols[j].right)
			if style.colour && cols[j].title == "verdict" {
				cell = ansi(statusOf(r.Verdict).Class) + cell + "\x1b[0m"
			}
			line.WriteString("  " + cell)
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
}

func legend(t thing) string {
	const rest = "stall, p50 and p99 in ms; ok/s achieved"
	switch t.many {
	case "":
		return rest
	case manyDuplicates:
		return "dupl. = raced + overlooked duplicates; " + rest
	default:
		return shortThing(t) + " = " + t.many + "; " + rest
	}
}

// fit leaves out columns, and then shortens the lock's name, until a line has
// room. It returns the columns that stay.
func fit(cols []consoleColumn, widths []int, width int) []int {
	for level := 3; ; level-- {
		var keep []int
		total := 0
		for j, c := range cols {
			if c.level <= level {
				keep = append(keep, j)
				total += 2 + widths[j]
			}
		}
		if over := total - width; over > 0 {
			// A name of 16 still tells; below that other columns go first.
			if shorter := widths[0] - over; shorter >= 16 || level == 0 {
				widths[0] = max(shorter, 4)
				return keep
			}
			continue
		}
		return keep
	}
}

func pad(text string, width int, right bool) string {
	gap := strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
	if right {
		return gap + text
	}
	return text + gap
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
