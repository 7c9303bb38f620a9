package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/reports/table"
	"locklab/workloads/result"
)

// heads are columns: a title that ends in > is of numbers, one that begins with = names the row.
func heads(titles ...string) (columns []table.Column) {
	for _, t := range titles {
		c := table.Column{Title: strings.TrimPrefix(strings.TrimSuffix(t, ">"), "="), Key: strings.HasPrefix(t, "="), Right: strings.HasSuffix(t, ">")}
		columns = append(columns, c)
	}
	return columns
}

// cellsOf is a row of texts.
func cellsOf(texts ...string) (row []table.Cell) {
	for _, t := range texts {
		row = append(row, table.Cell{Text: t})
	}
	return row
}

// Figures are every figure of every cell, medians of repeats.
func (v *View) Figures() table.Table { return v.figures(true) }

// figures are all of them, or those that are compared.
func (v *View) figures(all bool) table.Table {
	titles := []string{"=" + v.say.Text("lock"), "=" + v.say.Text("scenario")}
	several := len(v.Grids) > 1
	if several {
		titles = append(titles, "="+v.say.Text("workload"))
	}
	t := table.Table{Columns: heads(titles...)}
	var figures []result.Figure
	for _, name := range v.f.FigureNames() {
		f, _ := result.Lookup(name)
		told := func(c cell) bool { return slices.ContainsFunc(c.Values(name), func(n float64) bool { return n != 0 }) }
		if all || f.Compare && slices.ContainsFunc(v.cells, told) {
			figures = append(figures, f)
			t.Columns = append(t.Columns, table.Column{Title: f.Name, Note: v.say.Term(f.Means), Right: true})
		}
	}
	for i := range v.cells {
		c := &v.cells[i]
		row := cellsOf(c.Lock, c.Scenario)
		if several {
			row = append(row, cellsOf(c.Workload)...)
		}
		for _, f := range figures {
			row = append(row, table.Cell{Text: figureOf(c, f)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func figureOf(c *cell, f result.Figure) string {
	if n, known := c.Median(f.Name); known {
		return table.Figure(f, n)
	}
	return table.Absent
}

// ByScenario are the same, of each workload and scenario a table: a line for each figure, a column
// for each lock.
func (v *View) ByScenario() (all []table.Table) {
	for _, workload := range v.workloads() {
		for _, s := range v.scenarios(workload) {
			t := table.Table{Title: s.Name, Columns: heads("=" + v.say.Text("figure"))}
			if len(v.Grids) > 1 {
				t.Title += ", " + workload
			}
			var cells []*cell
			for i := range v.cells {
				if c := &v.cells[i]; c.Scenario == s.Name && c.Workload == workload {
					cells = append(cells, c)
					t.Columns = append(t.Columns, table.Column{Title: c.Lock, Right: true})
				}
			}
			for _, name := range v.f.FigureNames() {
				if !slices.ContainsFunc(cells, func(c *cell) bool { return len(c.Values(name)) > 0 }) {
					continue
				}
				f, _ := result.Lookup(name)
				row := cellsOf(name)
				for _, c := range cells {
					row = append(row, table.Cell{Text: figureOf(c, f)})
				}
				t.Rows = append(t.Rows, row)
			}
			if len(cells) > 0 {
				all = append(all, t)
			}
		}
	}
	return all
}

// Faults are the ledger's: what was broken, how often, when, and whether it was proven. Faults of a
// scenario that are alike are one line; one that no scenario asked for has its own.
func (v *View) Faults() table.Table {
	t := table.Table{Columns: heads("="+v.say.Text("scenario"), v.say.Text("fault"), v.say.Text("target"), v.say.Text("hit"),
		v.say.Text("runs")+">", v.say.Text("proven")+">", v.say.Text("began")+">", v.say.Text("healed")+">", v.say.Text("note"))}
	type line struct {
		scenario     string
		first        result.Fault
		runs, proven int
		began, heal  [2]float64
	}
	var lines []*line
	span := func(of *[2]float64, ms float64) {
		if ms != result.Never && of[0] == result.Never {
			*of = [2]float64{ms, ms}
		} else if ms != result.Never {
			*of = [2]float64{min(of[0], ms), max(of[1], ms)}
		}
	}
	for i := range v.f.Rows {
		r := &v.f.Rows[i]
		for _, f := range r.Faults {
			alike := func(l *line) bool {
				return !f.Unasked && !l.first.Unasked && l.scenario == r.Scenario && l.first.Kind == f.Kind && l.first.Target == f.Target && l.first.Why == f.Why
			}
			at := slices.IndexFunc(lines, alike)
			if at < 0 {
				at = len(lines)
				lines = append(lines, &line{r.Scenario, f, 0, 0, [2]float64{result.Never, result.Never}, [2]float64{result.Never, result.Never}})
				if f.Unasked {
					lines[at].scenario += " (" + r.Lock + ")"
				}
			}
			l := lines[at]
			l.runs++
			if f.Proven {
				l.proven++
			}
			span(&l.began, f.BeganMS)
			span(&l.heal, f.HealMS)
		}
	}
	when := func(s [2]float64) string {
		low, high := fmt.Sprintf("%.1f s", s[0]/1000), fmt.Sprintf("%.1f s", s[1]/1000)
		switch {
		case s[0] == result.Never:
			return table.Absent
		case low == high:
			return low
		}
		return fmt.Sprintf("%.1f to %s", s[0]/1000, high)
	}
	for _, l := range lines {
		f := l.first
		hit := strings.Join(f.Nodes, ", ")
		if len(f.From)+len(f.To) > 0 {
			hit = strings.Join(f.From, ", ") + " > " + strings.Join(f.To, ", ")
		}
		note := f.Why
		if f.Unasked {
			note = strings.TrimSuffix(v.say.Text("unasked")+": "+f.Why, ": ")
		}
		t.Rows = append(t.Rows, cellsOf(l.scenario, f.Kind, f.Target, hit, strconv.Itoa(l.runs), strconv.Itoa(l.proven), when(l.began), when(l.heal), note))
	}
	return t
}

// Machines are how busy each machine was in the busiest run.
func (v *View) Machines() table.Table {
	t := table.Table{Columns: heads("="+v.say.Text("machine"), v.say.Text("CPUs")+">", v.say.Text("busy")+">", v.say.Text("others")+">",
		v.say.Text("slowdown")+">", v.say.Text("timers late")+">", v.say.Text("fsync")+">")}
	worst := map[string]result.Machine{}
	for i := range v.f.Rows {
		for _, m := range v.f.Rows[i].Hosts {
			w := worst[m.Host]
			worst[m.Host] = result.Machine{
				Host: m.Host, CPUs: m.CPUs, Busy: max(w.Busy, m.Busy), Others: max(w.Others, m.Others), Slowdown: max(w.Slowdown, m.Slowdown),
				LateMS: max(w.LateMS, m.LateMS), FsyncMS: max(w.FsyncMS, m.FsyncMS),
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(worst)) {
		m, fsync := worst[name], table.Absent
		if worst[name].FsyncMS > 0 {
			fsync = table.Duration(worst[name].FsyncMS)
		}
		t.Rows = append(t.Rows, cellsOf(cmp.Or(name, v.say.Text("this machine")), strconv.Itoa(m.CPUs), table.Share(m.Busy), table.Share(m.Others),
			table.Number(m.Slowdown), table.Duration(m.LateMS), fsync))
	}
	return t
}

// Nodes are what the processes of a lock's nodes used at most, by their role.
func (v *View) Nodes() table.Table {
	t := table.Table{Columns: heads("="+v.say.Text("lock"), "="+v.say.Text("role"), v.say.Text("nodes")+">", v.say.Text("CPUs together")+">",
		v.say.Text("MiB of the largest")+">", v.say.Text("kB/s in")+">", v.say.Text("kB/s out")+">")}
	type key struct{ lock, role string }
	most := map[key]result.Node{}
	count := map[key]int{}
	var order []key
	for i := range v.f.Rows {
		sums, nodes := map[key]result.Node{}, map[key]int{}
		for _, n := range v.f.Rows[i].Nodes {
			k := key{v.f.Rows[i].Lock, n.Role}
			s := sums[k]
			sums[k] = result.Node{CPUs: s.CPUs + n.CPUs, MemoryMiB: max(s.MemoryMiB, n.MemoryMiB), InPerS: s.InPerS + n.InPerS, OutPerS: s.OutPerS + n.OutPerS}
			nodes[k]++
			if count[k] == 0 {
				order, count[k] = append(order, k), 1
			}
		}
		for k, s := range sums {
			m := most[k]
			most[k] = result.Node{CPUs: max(m.CPUs, s.CPUs), MemoryMiB: max(m.MemoryMiB, s.MemoryMiB), InPerS: max(m.InPerS, s.InPerS), OutPerS: max(m.OutPerS, s.OutPerS)}
			count[k] = max(count[k], nodes[k])
		}
	}
	for _, k := range order {
		m := most[k]
		t.Rows = append(t.Rows, cellsOf(k.lock, k.role, strconv.Itoa(count[k]), table.Number(m.CPUs), table.Number(m.MemoryMiB), table.Number(m.InPerS/1000), table.Number(m.OutPerS/1000)))
	}
	return t
}

// Peers are how each master fared in each run.
func (v *View) Peers() table.Table {
	t := table.Table{Columns: heads("="+v.say.Text("lock"), "="+v.say.Text("scenario"), "="+v.say.Text("master"), v.say.Text("zone"), v.say.Text("acquired")+">", v.say.Text("gave up")+">",
		v.say.Text("wait p50")+">", v.say.Text("wait p99")+">", v.say.Text("longest")+">", v.say.Text("passed by")+">", v.say.Text("in a row")+">")}
	for i := range v.f.Rows {
		r := &v.f.Rows[i]
		for _, p := range r.Peers {
			t.Rows = append(t.Rows, cellsOf(r.Lock, r.Scenario, p.Node, p.Zone, table.Count(float64(p.Acquires)), table.Count(float64(p.GaveUp)), table.Duration(p.WaitP50MS),
				table.Duration(p.WaitP99MS), table.Duration(p.WaitMaxMS), table.Count(float64(p.BypassMax)), table.Count(float64(p.BypassInARowMax))))
		}
	}
	return t
}

// Claims are those of a suite, as the rows decide them.
func (v *View) Claims() table.Table {
	t := table.Table{Columns: heads(v.say.Text("verdict"), v.say.Text("claim"), v.say.Text("source"), v.say.Text("evidence"))}
	verdict := func(word string) table.Cell {
		marks := map[string]table.Mark{result.ClaimShown: table.OK, result.ClaimRefuted: table.Violation, result.ClaimPartly: table.Unknown, result.ClaimUndecided: table.Unknown}
		return table.Cell{Text: v.say.Term(word), Mark: marks[word]}
	}
	for _, c := range v.f.Run.Claims {
		var evidence []string
		for _, e := range c.Evidence {
			text := v.say.Sprintf("%s under %s: %s", e.Lock, e.Scenario, v.anyOf(e.Wanted))
			if e.Verdict != c.Verdict {
				text += " (" + v.say.Term(e.Verdict) + ")"
			}
			evidence = append(evidence, text)
		}
		t.Rows = append(t.Rows, append([]table.Cell{verdict(c.Verdict)}, cellsOf(v.say.Term(c.Claim), v.say.Term(c.Source), strings.Join(evidence, "; "))...))
	}
	return t
}

// Facts are lines about the run: where, when and with what.
func (v *View) Facts() table.Table {
	t := table.Table{Columns: heads("="+v.say.Text("fact"), v.say.Text("value"))}
	add := func(name, value string) {
		if value != "" {
			t.Rows = append(t.Rows, cellsOf(name, value))
		}
	}
	run, host := v.f.Run, v.f.Run.Host
	add(v.say.Text("run"), run.ID)
	if !run.Started.IsZero() {
		add(v.say.Text("started"), run.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	add(v.say.Text("took"), (time.Duration(run.DurationMS) * time.Millisecond).Round(time.Second).String())
	add(v.say.Text("seed"), strconv.FormatUint(run.Seed, 10))
	add(v.say.Text("commit"), run.Commit)
	add(v.say.Text("topology"), run.Topology)
	add(v.say.Text("load"), run.Load)
	add(v.say.Text("command"), run.Command)
	add(v.say.Text("machine"), strings.TrimSpace(fmt.Sprintf("%s/%s %s, %d x %s, %d MiB", host.OS, host.Arch, host.Kernel, host.CPUs, cmp.Or(host.CPUModel, "CPU"), host.MemoryMiB)))
	add("Go", host.Go)
	for _, name := range slices.Sorted(maps.Keys(run.Versions)) {
		add(name, run.Versions[name])
	}
	if c := run.LinkCost; c != nil {
		add(v.say.Text("link cost"), v.say.Sprintf("a small message and its answer: %s us through a link, %s us without", table.Number(c.LinkP50US), table.Number(c.DirectP50US)))
	}
	for _, c := range run.Clocks {
		add(v.say.Sprintf("clock of %s", c.Host), v.say.Sprintf("%s beside the controller's, give or take %s", table.Duration(float64(c.OffsetNS)/1e6), table.Duration(float64(c.ErrorNS)/1e6)))
	}
	return t
}
