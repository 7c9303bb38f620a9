// Package view makes the grid, the four computed lines and the tables of a run from its result, once for all
// writers: the console, report.md, the pages and the files for CI servers. Pages need nothing but themselves: the grid
// with its plots and evidence, and the glossary, each in every language.
//
//	result.File ──Of──▶ View ──▶ Console, Full, Markdown, Digest
//	                      └────▶ WritePages ◀──plots, series── histories
//	result.File ──▶ CSV
package view

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Options are the choices of the caller.
type Options struct {
	Width int    // of the console; 0 is 80
	Page  string // the path of the page
	Exit  int    // the exit code, if not that of the rows
	// Locks are all that will run: the grid of an unfinished run has a line for each.
	Locks []string
	// Link is where the evidence of a cell is, for pages.
	Link func(result.Key) string
}

// View is a result in words. A field without content is empty.
type View struct {
	Head       string        // 6 locks x 4 scenarios, matchmaking 300/s, faults of 2.8 to 4 s
	Seed       string        // seed 1
	Grids      []table.Table // of each workload: its locks and scenarios
	Legend     []string      // one line each
	CutOff     string        // made while cut off, not counted: ...
	Unexpected []string      // of each cell with a !: the statement, and the expectation
	Warnings   []string
	Answers    []Line // at most four; none where there are several workloads
	Lab        string // 24 of 24 as expected, ...
	Why, Next  Suggestion
	Took       string // 4:31, exit 0

	f     result.File
	say   *lang.Lang
	o     Options
	cells []cell
}

// Line is a line with a label.
type Line struct{ Label, Text string }

// Suggestion is a command and its purpose.
type Suggestion struct{ Command, For string }

// Of makes the view of a result.
func Of(say *lang.Lang, f result.File, o Options) *View {
	v := &View{f: f, say: say, o: o, Seed: say.Sprintf("seed %d", f.Run.Seed)}
	for _, c := range f.Cells() {
		v.cells = append(v.cells, tell(c))
	}
	for _, workload := range v.workloads() {
		v.Grids = append(v.Grids, v.grid(workload))
	}
	v.head()
	v.legend()
	v.cutOff()
	v.unexpected()
	v.lab()
	switch {
	case f.Run.Interrupted:
		v.Warnings = []string{say.Text("The run was interrupted: rows are missing.")}
	case f.Run.Unfinished:
		v.Warnings = []string{say.Text("The run has not come to its end: rows are missing.")}
	}
	v.Warnings = append(v.Warnings, f.Run.Warnings...)
	if len(v.Grids) == 1 {
		v.answers()
		v.suggest()
	}
	v.Took = say.Sprintf("exit %d", cmp.Or(o.Exit, ExitCode(f)))
	if f.Run.DurationMS >= 1000 {
		v.Took = took(f.Run.DurationMS) + ", " + v.Took
	}
	return v
}

// took is minutes and seconds: 4:31.
func took(ms int64) string { return fmt.Sprintf("%d:%02d", ms/60_000, ms/1000%60) }

// ExitCode is the exit code of all rows: 2 (not as expected) before 3 (a silent control) before 4 (not sound).
// Rows of locklab play do not count: they have no expectation.
func ExitCode(f result.File) int {
	code := 0
	for i := range f.Rows {
		if c := f.Rows[i].Verdict.As.ExitCode(); c != 0 && (code == 0 || c < code) && !f.Rows[i].Played {
			code = c
		}
	}
	return code
}

// names lists the names of a workload's cells, or of all, each once, behind those in first.
func (v *View) names(first []string, workload string, of func(*cell) string) []string {
	names := slices.Clone(first)
	for i := range v.cells {
		c := &v.cells[i]
		if name := of(c); (workload == "" || workload == c.Workload) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// workloads lists the workloads of the rows, in their order.
func (v *View) workloads() []string {
	return v.names(nil, "", func(c *cell) string { return c.Workload })
}

func (c *cell) lock() string { return c.Lock }

func (c *cell) scenario() string { return c.Scenario }

// locks lists all locks that will run, then those of a workload.
func (v *View) locks(workload string) []string { return v.names(v.o.Locks, workload, (*cell).lock) }

// scenarios lists the scenarios of a workload, in the order of the run. If there is one workload, it has all of
// them from the start.
func (v *View) scenarios(workload string) []string {
	ran, one := v.names(nil, workload, (*cell).scenario), len(v.workloads()) <= 1
	var first []string
	for _, s := range v.f.Run.Scenarios {
		if (one || slices.Contains(ran, s.Name)) && !slices.Contains(first, s.Name) {
			first = append(first, s.Name)
		}
	}
	return v.names(first, workload, (*cell).scenario)
}

// cell is the cell of a combination, or nil.
func (v *View) cell(k result.Key) *cell {
	if i := slices.IndexFunc(v.cells, func(c cell) bool { return c.Key == k }); i >= 0 {
		return &v.cells[i]
	}
	return nil
}

// title is a scenario's title in the language, or else its name.
func (v *View) title(name string) string {
	title := strings.ReplaceAll(name, "-", " ")
	if i := slices.IndexFunc(v.f.Run.Scenarios, func(s result.Scenario) bool { return s.Name == name }); i >= 0 {
		s := v.f.Run.Scenarios[i]
		title = cmp.Or(s.Title, title)
		if v.say.Tag == lang.KoreanTag {
			title = cmp.Or(s.TitleKO, title)
		}
	}
	return title
}

// head tells the numbers of locks and scenarios, the load, and the length of the faults.
func (v *View) head() {
	locks, scenarios := v.names(nil, "", (*cell).lock), v.names(nil, "", (*cell).scenario)
	parts := []string{v.say.Count(len(locks), "1 lock", "%s locks") + " x " +
		v.say.Count(len(scenarios), "1 scenario", "%s scenarios")}
	if v.f.Run.Repeats > 1 {
		parts[0] += " x " + v.say.Sprintf("%d runs", v.f.Run.Repeats)
	}
	rate := 0.0
	var lengths []float64 // of faults
	for i := range v.f.Rows {
		rate = max(rate, v.f.Rows[i].Figures["offered_per_s"])
		for _, f := range v.f.Rows[i].Faults {
			end := f.HealMS
			if end == result.Never || end-f.BeganMS < 1 { // it healed itself
				end = f.EndedMS
			}
			if f.BeganMS != result.Never && end-f.BeganMS >= 50 && !f.Unasked {
				lengths = append(lengths, end-f.BeganMS)
			}
		}
	}
	if workloads := v.workloads(); len(workloads) > 1 {
		parts = append(parts, v.say.Sprintf("%d workloads", len(workloads)))
	} else if len(workloads) == 1 {
		parts = append(parts, workloads[0])
		if rate > 0 {
			parts[1] += " " + table.Count(rate) + "/s"
		}
	}
	if len(lengths) > 0 {
		seconds := func(ms float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", ms/1000), ".0") }
		if from, to := seconds(slices.Min(lengths)), seconds(slices.Max(lengths)); from == to {
			parts = append(parts, v.say.Sprintf("faults of %s s", to))
		} else {
			parts = append(parts, v.say.Sprintf("faults of %s to %s s", from, to))
		}
	}
	v.Head = strings.Join(parts, ", ")
}

// lab counts expected rows, proven faults and silent controls.
func (v *View) lab() {
	of := map[result.Comparison]int{}
	var judged, controls, faults, proven int
	others, saturated := 0.0, false
	for i := range v.f.Rows {
		r := &v.f.Rows[i]
		for _, f := range slices.DeleteFunc(slices.Clone(r.Faults), func(f result.Fault) bool { return f.Unasked }) {
			if faults++; f.Proven {
				proven++
			}
		}
		for _, h := range r.Hosts {
			others = max(others, h.Others)
		}
		saturated = saturated || r.Verdict.Sound.Code == result.Saturated
		if r.Played {
			continue
		}
		judged++
		of[r.Verdict.As]++
		if r.Expected.Control() && r.Verdict.As != result.Unsound {
			controls++
		}
	}
	var parts []string
	add := func(holds bool, text string) {
		if holds {
			parts = append(parts, text)
		}
	}
	silent, undecided := of[result.Silent], of[result.Unsound]
	add(judged > 0, v.say.Sprintf("%d of %d as expected", of[result.AsExpected], judged))
	add(faults > 0, v.say.Sprintf("%d of %d faults proven", proven, faults))
	add(silent > 0, v.say.Sprintf("%d of %d controls silent", silent, controls))
	add(silent == 0 && controls > 0, v.say.Text("every control showed it"))
	add(undecided > 0, v.say.Sprintf("%d undecided", undecided))
	add(others > 0.2 || saturated && others > 0, v.say.Sprintf("others used %s of the CPUs", table.Share(others)))
	v.Lab = strings.Join(parts, ", ")
}

// suggest names the cell to explain first, and the next run.
func (v *View) suggest() {
	if c := v.first(); c != nil {
		v.Why = Suggestion{Command: "locklab why " + c.Lock + " " + c.Scenario, For: v.told(c)}
		if dir := path.Dir(v.o.Page); v.o.Page != "" && path.Dir(dir) != "reports/runs" { // where it looks by default
			v.Why.Command += " --report " + dir
		}
		if c.mark == table.Violation && c.n > 1 && len(c.Rows) == 1 {
			v.Why.For = v.say.Sprintf("the first of %s", v.Why.For)
		}
	}
	run := v.f.Run
	resume, again := "locklab run --resume "+path.Dir(v.o.Page), run.Command+" --repeat 5"
	inconclusive := func(r result.Row) bool { return !r.Decided() && !r.Played }
	switch {
	case run.Interrupted && v.o.Page != "":
		v.Next = Suggestion{resume, v.say.Text("what is missing")}
	case slices.ContainsFunc(v.f.Rows, inconclusive) && v.o.Page != "":
		v.Next = Suggestion{resume + " --redo inconclusive", v.say.Text("what is undecided")}
	case v.minority():
		v.Next = Suggestion{"locklab run --topology seoul-3az", v.say.Text("does a third zone help?")}
	case run.Repeats < 2 && strings.HasPrefix(again, "locklab run") && table.Columns(again) <= 43 && len(v.cells) > 1:
		v.Next = Suggestion{again, v.say.Text("is a difference more than noise?")}
	}
}

// first is the cell to explain first: one that is not as expected; then a violation of a lock that
// is safe elsewhere; then an outage.
func (v *View) first() (worst *cell) {
	rank := func(c *cell) float64 {
		safe := func(o cell) bool { return o.Lock == c.Lock && (o.mark == table.OK || o.mark == table.Outage) }
		switch {
		case c.unexpected:
			return 4
		case c.mark == table.Violation && slices.ContainsFunc(v.cells, safe):
			return 3
		case c.mark == table.Outage:
			return 2
		case c.mark == table.Violation:
			return 1
		}
		return 0
	}
	for i := range v.cells {
		c := &v.cells[i]
		if r := rank(c); r > 0 && (worst == nil || r > rank(worst) || r == rank(worst) && c.n > worst.n) {
			worst = c
		}
	}
	return worst
}
