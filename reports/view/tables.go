package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/table"
	"locklab/reports/why"
	"locklab/workloads/result"
)

// Figures makes a table of all figures for each workload and scenario: a line for each figure, a column for each
// lock, medians of repeats.
func (v *View) Figures() (all []table.Table) {
	for _, workload := range v.workloads() {
		for _, scenario := range v.scenarios(workload) {
			title := scenario
			if len(v.Grids) > 1 {
				title += ", " + workload
			}
			all = append(all, v.byLock(title, workload, []string{scenario}, v.f.Measured()))
		}
	}
	return all
}

// cost is the capacity of each lock of a workload and its cost, each under the first scenario that has it.
func (v *View) cost(workload string) table.Table {
	var figures []result.Figure
	for _, name := range []string{
		"grants_per_s", "handoffs_per_s", "cpu_us_per_grant",
		"messages_per_acquire", "cpus", "memory_mib",
	} {
		figures = append(figures, result.MustFigure(name))
	}
	return v.byLock(v.say.Text("Capacity and cost"), workload, v.scenarios(workload), figures)
}

// byLock has a line for each figure that was measured and a column for each lock.
func (v *View) byLock(title, workload string, scenarios []string, figures []result.Figure) table.Table {
	t := table.Table{Title: title, Columns: table.Heads(v.say.Titles("=figure")...)}
	locks := slices.DeleteFunc(v.locks(workload), func(lock string) bool {
		return !slices.ContainsFunc(scenarios,
			func(s string) bool { return v.cell(result.Key{Lock: lock, Scenario: s, Workload: workload}) != nil })
	})
	for _, lock := range locks {
		t.Columns = append(t.Columns, table.Column{Title: lock, Right: true})
	}
	for _, f := range figures {
		row, measured := []table.Cell{{Text: f.Name, Note: v.say.Term(f.Means)}}, false
		for _, lock := range locks {
			c := table.Cell{Text: table.Absent}
			for _, s := range slices.Backward(scenarios) {
				if n, known := v.median(result.Key{Lock: lock, Scenario: s, Workload: workload}, f.Name); known {
					c.Text, measured = table.Figure(f, n), true
				}
			}
			row = append(row, c)
		}
		if measured {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// latencies is p50 and p99 of the requests, or of the acquisitions, of a workload: a line for each lock, a column
// for each scenario.
func (v *View) latencies(title, workload, of string) table.Table {
	measured := false
	head := func(_ int, s string) table.Column { return table.Column{Title: v.title(s), Right: true} }
	t := v.across(workload, head, func(k result.Key) table.Cell {
		p50, known := v.median(k, of+"_p50_ms")
		if !known {
			return table.Cell{Text: table.Absent}
		}
		p99, _ := v.median(k, of+"_p99_ms")
		measured = true
		return table.Cell{Text: table.Duration(p50) + " · " + table.Duration(p99)}
	})
	if t.Title = title; !measured {
		t.Rows = nil
	}
	return t
}

// compared has a line for each cell, and a column for each compared figure that is not 0 in all.
func (v *View) compared() table.Table {
	t := table.Table{Columns: table.Heads(v.say.Titles("=lock", "=scenario", "=workload")...)}
	keys := len(t.Columns)
	if len(v.Grids) == 1 {
		keys--
	}
	t.Columns = t.Columns[:keys]
	figures := slices.DeleteFunc(v.f.Measured(), func(f result.Figure) bool {
		return !f.Compare || !slices.ContainsFunc(v.f.Rows, func(r result.Row) bool { return r.Figures[f.Name] != 0 })
	})
	for _, f := range figures {
		t.Columns = append(t.Columns, table.Column{Title: f.Name, Right: true})
	}
	for i := range v.cells {
		c := &v.cells[i]
		row := table.Row(c.Lock, c.Scenario, c.Workload)[:keys]
		for _, f := range figures {
			text := table.Absent
			if n, known := c.Median(f.Name); known {
				text = table.Figure(f, n)
			}
			row = append(row, table.Cell{Text: text})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Faults lists the faults of the ledger. Those of one kind, target and note share a line.
func (v *View) Faults() table.Table {
	t := table.Table{Columns: table.Heads(v.say.Titles("=scenario", "fault", "target", "hit", "runs>", "proven>", "began>",
		"healed>", "note")...)}
	type line struct {
		scenario, kind, target, note string
		hit                          string // of the first
		runs, proven                 int
		began, healed                []float64
	}
	var lines []*line
	for i := range v.f.Rows {
		r := &v.f.Rows[i]
		for _, f := range r.Faults {
			is := line{scenario: r.Scenario, kind: f.Kind, target: f.Target, note: f.Why, hit: strings.Join(f.Nodes, ", ")}
			if f.Unasked {
				is.scenario += " (" + r.Lock + ")"
				is.note = strings.TrimSuffix(v.say.Text("unasked")+": "+f.Why, ": ")
			}
			if len(f.From)+len(f.To) > 0 {
				is.hit = strings.Join(f.From, ", ") + " > " + strings.Join(f.To, ", ")
			}
			at := slices.IndexFunc(lines, func(l *line) bool {
				return l.scenario == is.scenario && l.kind == is.kind && l.target == is.target && l.note == is.note
			})
			if at < 0 {
				at = len(lines)
				lines = append(lines, &is)
			}
			l := lines[at]
			if l.runs++; f.Proven {
				l.proven++
			}
			l.began, l.healed = append(l.began, f.BeganMS), append(l.healed, f.HealMS)
		}
	}
	when := func(times []float64) string {
		times = slices.DeleteFunc(times, func(ms float64) bool { return ms == result.Never })
		if len(times) == 0 {
			return table.Absent
		}
		low, high := fmt.Sprintf("%.1f", slices.Min(times)/1000), fmt.Sprintf("%.1f s", slices.Max(times)/1000)
		if low+" s" == high {
			return high
		}
		return low + " to " + high
	}
	for _, l := range lines {
		t.Rows = append(t.Rows, table.Row(l.scenario, l.kind, l.target, l.hit, strconv.Itoa(l.runs),
			strconv.Itoa(l.proven), when(l.began), when(l.healed), l.note))
	}
	return t
}

// Claims lists a suite's claims, with their verdicts.
func (v *View) Claims() table.Table {
	t := table.Table{Columns: table.Heads(v.say.Titles("verdict", "claim", "source", "evidence")...)}
	marks := map[string]table.Mark{
		result.ClaimShown: table.OK, result.ClaimRefuted: table.Violation,
		result.ClaimPartly: table.Unknown, result.ClaimUndecided: table.Unknown,
	}
	for _, c := range v.f.Run.Claims {
		var evidence []string
		for _, e := range c.Evidence {
			text := v.say.Sprintf("%s under %s", e.Lock, e.Scenario) + ": " + why.AnyOf(v.say, e.Wanted)
			if e.Tries > 1 {
				text += fmt.Sprintf(" %d/%d", e.Shown, e.Tries)
			}
			if e.Verdict != c.Verdict {
				text += " (" + v.say.Term(e.Verdict) + ")"
			}
			evidence = append(evidence, text)
		}
		row := table.Row(v.say.Term(c.Verdict), v.say.Term(c.Claim), v.say.Term(c.Source), strings.Join(evidence, "; "))
		row[0].Mark = marks[c.Verdict]
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Facts lists the place, the time, the settings and the versions of the run.
func (v *View) Facts() table.Table {
	t := table.Table{Columns: table.Heads(v.say.Titles("=fact", "value")...)}
	add := func(name, value string) {
		if value != "" {
			t.Rows = append(t.Rows, table.Row(name, value))
		}
	}
	run, host := v.f.Run, v.f.Run.Host
	add(v.say.Text("run"), run.ID)
	if !run.Started.IsZero() {
		add(v.say.Text("started"), run.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add(v.say.Text("took"), took(run.DurationMS))
	add(v.say.Text("seed"), strconv.FormatUint(run.Seed, 10))
	add(v.say.Text("commit"), run.Commit)
	add(v.say.Text("topology"), run.Topology)
	add(v.say.Text("load"), run.Load)
	add(v.say.Text("command"), run.Command)
	add(v.say.Text("machine"), strings.TrimSpace(fmt.Sprintf("%s/%s %s, %d x %s, %d MiB", host.OS, host.Arch, host.Kernel,
		host.CPUs, cmp.Or(host.CPUModel, "CPU"), host.MemoryMiB)))
	add("Go", host.Go)
	for _, name := range slices.Sorted(maps.Keys(run.Versions)) {
		add(name, run.Versions[name])
	}
	return t
}
