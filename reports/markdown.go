package reports

import (
	"fmt"
	"strings"

	"locklab/reports/result"
)

// markdownOf writes the report as GitHub-flavoured Markdown.
func markdownOf(f result.File, notes []string) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# locklab: %s\n\n", md(title(f)))
	for _, warning := range f.Run.Warnings {
		fmt.Fprintf(&out, "> **Warning:** %s\n>\n", md(warning))
	}
	for _, note := range notes {
		fmt.Fprintf(&out, "> **Note:** %s\n>\n", md(note))
	}
	if len(f.Run.Warnings)+len(notes) > 0 {
		out.WriteString("\n")
	}
	out.WriteString("## What was found\n\n")
	for _, one := range findings(f) {
		text := ""
		if one.Alarm {
			text = "**Alarm:** "
		}
		for _, part := range one.Parts() {
			if part.Name {
				text += "**" + md(part.Text) + "**"
			} else {
				text += md(part.Text)
			}
		}
		fmt.Fprintf(&out, "- %s\n", text)
	}
	for _, workload := range workloadsOf(f.Results) {
		rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
		mdMatrix(&out, workload, rows)
		mdFigures(&out, workload, rows)
	}
	mdWaits(&out, f.Results)
	mdLedger(&out, f.Results)
	mdClocks(&out, f.Run)
	mdTerms(&out)
	out.WriteString("\n## Facts\n\n| | |\n|---|---|\n")
	for _, one := range facts(f) {
		value := md(one.Value)
		if one.Code {
			value = mdCode(one.Value)
		}
		fmt.Fprintf(&out, "| %s | %s |\n", md(one.Name), value)
	}
	return []byte(out.String())
}

// title says what was compared.
func title(f result.File) string {
	locks, scenarios := len(locksOf(f.Results)), len(scenariosOf(f.Results))
	if locks == 0 {
		return "a run without results"
	}
	return fmt.Sprintf("%s under %s", plural(int64(locks), "lock"), plural(int64(scenarios), "scenario"))
}

func mdMatrix(out *strings.Builder, workload string, rows []result.Row) {
	things := thingOf(rows)
	scenarios := scenariosOf(rows)
	fmt.Fprintf(out, "\n## Verdicts: %s\n\n| lock |", md(workload))
	for _, s := range scenarios {
		fmt.Fprintf(out, " %s |", md(s))
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(scenarios)) + "\n")
	for _, lock := range locksOf(rows) {
		fmt.Fprintf(out, "| %s |", md(lock))
		for _, scenario := range scenarios {
			r, ok := findRow(rows, lock, scenario, workload)
			if !ok {
				out.WriteString(" not run |")
				continue
			}
			fmt.Fprintf(out, " %s |", strings.Join(cellLines(r, things, md), "<br>"))
		}
		out.WriteString("\n")
	}
}

// cellLines is what a cell of the matrix says, line by line.
func cellLines(r result.Row, things thing, escape func(string) string) []string {
	s := statusOf(r.Verdict)
	lines := []string{s.Shape + " " + s.Word}
	if things.of != nil {
		if n, ok := things.of(r); ok {
			lines = append(lines, count(n)+" "+strings.TrimSuffix(things.many, "s")+pluralS(n))
		}
	}
	if r.Duplicates != nil && r.Duplicates.Warmup > 0 {
		lines = append(lines, count(r.Duplicates.Warmup)+" in the warm-up")
	}
	if r.Verdict.Liveness != "" {
		text := escape(plain(r.Verdict.Liveness))
		if r.StallMS != nil && r.Verdict.Liveness != "live" {
			text += " (" + span(*r.StallMS) + ")"
		}
		lines = append(lines, text)
	}
	if p99 := quantile(r, func(q *result.Quantiles) float64 { return q.P99 }); p99 != absent {
		lines = append(lines, "p99 "+p99+" ms"+ofServed(r))
	}
	return lines
}

func pluralS(n int64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

func mdFigures(out *strings.Builder, workload string, rows []result.Row) {
	fmt.Fprintf(out, "\n## Figures: %s\n\nLatencies and stalls in ms, rates per second. Every field is in results.csv.\n\n", md(workload))
	names := []string{"lock", "scenario", "achieved_per_s", "offered_per_s", "availability_share"}
	switch thingOf(rows).many {
	case manyDuplicates:
		names = append(names, "duplicates_raced", "duplicates_overlooked", "duplicates_unreachable", "duplicates_per_1000_matches")
	case "overlapping holds":
		names = append(names, "overlaps")
	case "stale writes":
		names = append(names, "stale_writes", "fenced_writes")
	}
	names = append(names, "stall_ms", "recovery_ms", "latency_p50_ms", "latency_p99_ms", "latency_p999_ms", "acquire_p50_ms", "acquire_p99_ms")
	byName := map[string]column{}
	for _, c := range columns() {
		byName[c.Name] = c
	}
	head, line := "|", "|"
	for _, name := range names {
		c := byName[name]
		text := c.Title
		if !c.Text && (strings.HasPrefix(name, "latency") || strings.HasPrefix(name, "acquire")) {
			text = strings.TrimSuffix(c.Group, ", ms") + " " + c.Title
		}
		head += " " + strings.ToLower(text) + " |"
		if c.Text {
			line += "---|"
		} else {
			line += "---:|"
		}
	}
	fmt.Fprintln(out, head+"\n"+line)
	for _, r := range byScenario(rows) {
		out.WriteString("|")
		for _, name := range names {
			fmt.Fprintf(out, " %s |", md(byName[name].Shown(r)))
		}
		out.WriteString("\n")
	}
}

func mdLedger(out *strings.Builder, rows []result.Row) {
	out.WriteString("\n## Faults\n\nA verdict stands only on faults that probes have proven.\n\n")
	lines := ledger(rows)
	if len(lines) == 0 {
		out.WriteString("No faults.\n")
		return
	}
	out.WriteString("| scenario | fault | target | runs | proven | began, ms | ended, ms |\n|---|---|---|---:|---:|---:|---:|\n")
	for _, l := range lines {
		fmt.Fprintf(out, "| %s | %s | %s | %d | %d | %s | %s |\n",
			md(l.Scenario), md(l.Kind), md(l.Target), l.Runs, l.Proven, l.Began, l.Ended)
	}
	for _, e := range entriesOf(rows) {
		if len(e.Log) == 0 {
			continue
		}
		fmt.Fprintf(out, "\nThe last that %s wrote, %s under %s:\n\n", md(e.Target), md(e.Lock), md(e.Scenario))
		for _, line := range e.Log {
			fmt.Fprintf(out, "    %s\n", line) // indented: a block of code, which nothing inside can end
		}
	}
}

func mdTerms(out *strings.Builder) {
	out.WriteString("\n## How to read this\n\n")
	for _, s := range statuses() {
		fmt.Fprintf(out, "- **%s %s**: %s\n", s.Shape, s.Word, s.Means)
	}
	for _, group := range [][]term{duplicateTerms(), livenessTerms(), measureTerms()} {
		for _, t := range group {
			fmt.Fprintf(out, "- **%s**: %s\n", t.Word, t.Means)
		}
	}
	fmt.Fprintf(out, "\n%s\n", linkNote)
}

// md makes text literal in Markdown, inside tables too.
func md(text string) string {
	var b strings.Builder
	for _, r := range plain(text) {
		switch {
		case strings.ContainsRune("\\`*_{}[]|~", r):
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// mdCode makes a code span; a bar would end a table's cell even in there.
func mdCode(text string) string {
	text = strings.ReplaceAll(plain(text), "|", "\\|")
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
