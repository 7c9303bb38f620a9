package reports

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"locklab/reports/result"
)

// comparison is what several runs show side by side. Differences are against the
// first run.
type comparison struct {
	Title, Lede string
	First       string
	Warnings    []string
	Changes     []string
	Groups      []comparisonGroup
	Runs        []comparedRun
	Statuses    []status
	Terms       []termGroup
	LinkNote    string
	LinkCost    string
	Style       template.CSS
	Script      template.JS
}

type comparedRun struct {
	Name  string
	Facts []fact
}

// comparisonGroup is one scenario with one workload.
type comparisonGroup struct {
	Title    string
	Measures []string
	Locks    []comparedLock
}

type comparedLock struct {
	Lock string
	Runs []comparedRow
}

type comparedRow struct {
	Name     string
	Present  bool
	Status   status
	Liveness string
	Figures  []comparedFigure
	Span     int
}

type comparedFigure struct{ Value, Change string }

// measure is one figure that is compared.
type measure struct {
	title string
	whole bool // a count
	of    func(result.Row) *float64
}

func (m measure) shown(r result.Row) string {
	v := m.of(r)
	if v != nil && m.whole {
		return count(int64(*v))
	}
	return figureOf(v)
}

func measures() []measure {
	whole := func(of func(result.Row) *int64) func(result.Row) *float64 {
		return func(r result.Row) *float64 {
			n := of(r)
			if n == nil {
				return nil
			}
			v := float64(*n)
			return &v
		}
	}
	quantile := func(of func(result.Row) *result.Quantiles, pick func(*result.Quantiles) float64) func(result.Row) *float64 {
		return func(r result.Row) *float64 {
			q := of(r)
			if q == nil {
				return nil
			}
			v := pick(q)
			return &v
		}
	}
	p50 := func(q *result.Quantiles) float64 { return q.P50 }
	p99 := func(q *result.Quantiles) float64 { return q.P99 }
	return []measure{
		{"raced + overlooked", true, whole(func(r result.Row) *int64 {
			if r.Duplicates == nil {
				return nil
			}
			n := r.Duplicates.Raced + r.Duplicates.Overlooked
			return &n
		})},
		{"unreachable", true, whole(func(r result.Row) *int64 {
			if r.Duplicates == nil {
				return nil
			}
			return &r.Duplicates.Unreachable
		})},
		{"overlaps", true, whole(func(r result.Row) *int64 { return r.Overlaps })},
		{"stale writes", true, whole(func(r result.Row) *int64 { return r.StaleWrites })},
		{"stall, ms", false, func(r result.Row) *float64 { return r.StallMS }},
		{"latency p50, ms", false, quantile(func(r result.Row) *result.Quantiles { return r.LatencyMS }, p50)},
		{"latency p99, ms", false, quantile(func(r result.Row) *result.Quantiles { return r.LatencyMS }, p99)},
		{"acquire p50, ms", false, quantile(func(r result.Row) *result.Quantiles { return r.AcquireMS }, p50)},
		{"acquire p99, ms", false, quantile(func(r result.Row) *result.Quantiles { return r.AcquireMS }, p99)},
		{"achieved, 1/s", false, func(r result.Row) *float64 { return &r.AchievedPerS }},
	}
}

func compare(runs []loaded) comparison {
	files := make([]result.File, len(runs))
	names := runNames(runs)
	c := comparison{
		Title:    fmt.Sprintf("%d runs side by side", len(runs)),
		Lede:     list(names),
		First:    names[0],
		Statuses: statuses(), Terms: termGroups(), LinkNote: linkNote,
	}
	var all []result.Row
	for i, l := range runs {
		files[i] = result.Clean(l.File)
		all = append(all, files[i].Results...)
		c.Runs = append(c.Runs, comparedRun{names[i], facts(files[i])})
		for _, w := range files[i].Run.Warnings {
			c.Warnings = append(c.Warnings, names[i]+": "+plain(w))
		}
		if end := ending(files[i].Run); end.Topic != "" {
			c.Warnings = append(c.Warnings, names[i]+": "+end.Plain())
		}
	}
	c.Warnings = append(differences(files, names), c.Warnings...)
	for _, workload := range workloadsOf(all) {
		ofWorkload := rowsWith(all, func(r result.Row) bool { return r.Workload == workload })
		for _, scenario := range scenariosOf(ofWorkload) {
			rows := rowsWith(ofWorkload, func(r result.Row) bool { return r.Scenario == scenario })
			c.Groups = append(c.Groups, groupOf(files, names, rows, scenario, workload))
		}
	}
	c.Changes = changes(files, names)
	return c
}

// runNames tells the runs apart: their ids, or the directories if two are alike.
func runNames(runs []loaded) []string {
	names := make([]string, len(runs))
	seen := map[string]bool{}
	for i, l := range runs {
		names[i] = plain(l.File.Run.ID)
		if names[i] == "" || seen[names[i]] {
			names[i] = plain(filepath.Base(filepath.Clean(l.Dir)))
		}
		if seen[names[i]] {
			names[i] = fmt.Sprintf("%s (%d)", names[i], i+1)
		}
		seen[names[i]] = true
	}
	return names
}

func groupOf(files []result.File, names []string, rows []result.Row, scenario, workload string) comparisonGroup {
	g := comparisonGroup{Title: plain(scenario) + ", " + plain(workload)}
	var used []measure
	for _, m := range measures() {
		if slices.ContainsFunc(rows, func(r result.Row) bool { return m.of(r) != nil }) {
			used = append(used, m)
			g.Measures = append(g.Measures, m.title)
		}
	}
	for _, lock := range locksOf(rows) {
		line := comparedLock{Lock: plain(lock)}
		first, hasFirst := findRow(files[0].Results, lock, scenario, workload)
		for i, f := range files {
			r, present := findRow(f.Results, lock, scenario, workload)
			row := comparedRow{Name: names[i], Present: present, Span: 2 + len(used)}
			if present {
				row.Status, row.Liveness = statusOf(r.Verdict), orAbsent(r.Verdict.Liveness)
				for _, m := range used {
					figure := comparedFigure{Value: m.shown(r)}
					if i > 0 && hasFirst {
						figure.Change = change(m.of(first), m.of(r))
					}
					row.Figures = append(row.Figures, figure)
				}
			}
			line.Runs = append(line.Runs, row)
		}
		g.Locks = append(g.Locks, line)
	}
	return g
}

// change writes a difference: as a percentage, or absolutely from 0.
func change(before, after *float64) string {
	if before == nil || after == nil || math.IsNaN(*before) || math.IsNaN(*after) {
		return ""
	}
	d := *after - *before
	sign := "+"
	if d < 0 {
		sign = "−"
	}
	switch {
	case d == 0:
		return "same"
	case *before == 0:
		return sign + figure(math.Abs(d))
	default:
		return fmt.Sprintf("%s%.0f%%", sign, math.Abs(d) / *before * 100)
	}
}

// differences warns of what makes the runs hard to compare.
func differences(files []result.File, names []string) []string {
	var warnings []string
	tell := func(what string, of func(result.File) string) {
		var parts []string
		differ := false
		for i, f := range files {
			value := of(f)
			differ = differ || value != of(files[0])
			if value == "" {
				value = "not recorded"
			}
			parts = append(parts, names[i]+": "+plain(value))
		}
		if differ {
			warnings = append(warnings, fmt.Sprintf("The runs differ in %s, so their figures compare badly. %s.", what, strings.Join(parts, "; ")))
		}
	}
	tell("the host", func(f result.File) string { return hostText(f.Run.Host) })
	tell("the topology", func(f result.File) string { return f.Run.Topology })
	tell("the versions of the servers", func(f result.File) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(f.Run.Versions)) {
			parts = append(parts, name+" "+f.Run.Versions[name])
		}
		return strings.Join(parts, ", ")
	})
	tell("the version of Go", func(f result.File) string { return f.Run.Host.Go })
	tell("the offered rate", offeredText)
	if slices.ContainsFunc(files, func(f result.File) bool { return tookDiffers(files[0], f) }) {
		tell("how long they took", func(f result.File) string { return tookText(f.Run.DurationMS) })
	}
	return warnings
}

// tookDiffers allows for a tenth: two runs of the same plan never take the same
// time to the millisecond.
func tookDiffers(a, b result.File) bool {
	x, y := float64(a.Run.DurationMS), float64(b.Run.DurationMS)
	return math.Abs(x-y) > 0.1*max(x, y)
}

func offeredText(f result.File) string {
	var rates []string
	for _, r := range f.Results {
		if text := figure(math.Round(r.OfferedPerS)) + " per second"; !slices.Contains(rates, text) {
			rates = append(rates, text)
		}
	}
	slices.Sort(rates)
	return strings.Join(rates, ", ")
}

// changes says in words what is not the same as in the first run.
func changes(files []result.File, names []string) []string {
	var all []string
	for i, f := range files[1:] {
		for _, r := range byScenario(f.Results) {
			first, ok := findRow(files[0].Results, r.Lock, r.Scenario, r.Workload)
			if !ok {
				continue
			}
			where := fmt.Sprintf("%s: %s under %s", names[i+1], plain(r.Lock), plain(r.Scenario))
			if a, b := statusOf(first.Verdict), statusOf(r.Verdict); a.Word != b.Word {
				all = append(all, fmt.Sprintf("%s is %s; it was %s.", where, b.Word, a.Word))
			}
			if a, b := first.Verdict.Liveness, r.Verdict.Liveness; a != b {
				all = append(all, fmt.Sprintf("%s: liveness is %s; it was %s.", where, orAbsent(b), orAbsent(a)))
			}
			if a, b := first.Verdict.Safety, r.Verdict.Safety; a != b {
				all = append(all, fmt.Sprintf("%s is %s; it was %s.", where, orAbsent(b), orAbsent(a)))
			}
		}
	}
	if len(all) == 0 {
		all = append(all, "The verdicts are the same wherever the runs share a lock, a scenario and a workload.")
	}
	return all
}

func comparisonPage(c comparison) ([]byte, error) {
	return execute("comparison.html", &c, func(css template.CSS, js template.JS) { c.Style, c.Script = css, js })
}

func comparisonMarkdown(c comparison) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# locklab: %s\n\n%s. Differences are against %s.\n\n", md(c.Title), md(c.Lede), md(c.First))
	for _, w := range c.Warnings {
		fmt.Fprintf(&out, "> **Warning:** %s\n>\n", md(w))
	}
	out.WriteString("\n## What changed\n\n")
	for _, text := range c.Changes {
		fmt.Fprintf(&out, "- %s\n", md(text))
	}
	for _, g := range c.Groups {
		fmt.Fprintf(&out, "\n## %s\n\n| lock | run | verdict | liveness |", md(g.Title))
		for _, m := range g.Measures {
			fmt.Fprintf(&out, " %s |", md(m))
		}
		out.WriteString("\n|---|---|---|---|" + strings.Repeat("---:|", len(g.Measures)) + "\n")
		for _, lock := range g.Locks {
			for _, r := range lock.Runs {
				fmt.Fprintf(&out, "| %s | %s |", md(lock.Lock), md(r.Name))
				if !r.Present {
					out.WriteString(" not run |" + strings.Repeat(" |", r.Span-1) + "\n")
					continue
				}
				fmt.Fprintf(&out, " %s %s | %s |", r.Status.Shape, r.Status.Word, md(r.Liveness))
				for _, f := range r.Figures {
					text := f.Value
					if f.Change != "" {
						text += " (" + f.Change + ")"
					}
					fmt.Fprintf(&out, " %s |", md(text))
				}
				out.WriteString("\n")
			}
		}
	}
	for _, r := range c.Runs {
		fmt.Fprintf(&out, "\n## Facts: %s\n\n| | |\n|---|---|\n", md(r.Name))
		for _, one := range r.Facts {
			fmt.Fprintf(&out, "| %s | %s |\n", md(one.Name), md(one.Value))
		}
	}
	return []byte(out.String())
}
