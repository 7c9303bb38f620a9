// Package view makes all that is told of a run once, from its result: the grid, four computed
// lines, and the tables. The console, report.md, the page and CI's files are writers of it.
//
//	result.File -> Of -> View -> Console, Full, Markdown, Digest, the page
//	result.File -> CSV, JUnit
package view

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Options are what the result does not say.
type Options struct {
	Width int    // of the console; 0 is 80
	Page  string // the path of the page
	Exit  int    // the exit code, where it is not that of the rows
	// Locks are all that will run, so that the grid of a run that goes on has its lines from the
	// start.
	Locks []string
	// Link is where the evidence of a cell is, for pages.
	Link func(result.Key) string
}

// View is what is told of a result. What says nothing is empty.
type View struct {
	Head       string        // 6 locks x 4 scenarios, matchmaking 300/s, faults of 2.8 to 4 s
	Seed       string        // seed 1
	Grids      []table.Table // of each workload: its locks and scenarios
	Legend     []string      // one line each
	CutOff     string        // made while cut off, not counted: ...
	Unexpected []string      // of each cell with a !: what was seen, and what was expected
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

// Suggestion is a command, and what it is for.
type Suggestion struct{ Command, For string }

// Of makes the view of a result.
func Of(say *lang.Lang, f result.File, o Options) *View {
	v := &View{f: f, say: say, o: o}
	v.Seed = say.Sprintf("seed %d", f.Run.Seed)
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
	v.warnings()
	v.lab()
	if len(v.Grids) == 1 {
		v.answers()
		v.suggest()
	}
	exit := o.Exit
	if exit == 0 {
		exit = ExitCode(f)
	}
	v.Took = say.Sprintf("exit %d", exit)
	if s := f.Run.DurationMS / 1000; s > 0 {
		v.Took = fmt.Sprintf("%d:%02d, ", s/60, s%60) + v.Took
	}
	return v
}

// ExitCode is that of all rows: what is not as expected before a control that did not fire, before
// a run that is not sound.
func ExitCode(f result.File) int {
	code := 0
	for _, r := range f.Rows {
		if c := r.Verdict.As.ExitCode(); c != 0 && (code == 0 || c < code) {
			code = c
		}
	}
	return code
}

// workloads are those of the rows, in their order.
func (v *View) workloads() []string { return v.names(func(k result.Key) string { return k.Workload }) }

// names are those of the cells, each once, in the order in which they first come.
func (v *View) names(of func(result.Key) string) (names []string) {
	for _, c := range v.cells {
		if n := of(c.Key); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// locks are all, those that are to run first.
func (v *View) locks(workload string) []string {
	names := slices.Clone(v.o.Locks)
	for _, c := range v.cells {
		if c.Workload == workload && !slices.Contains(names, c.Lock) {
			names = append(names, c.Lock)
		}
	}
	return names
}

// scenarios are those of a workload, in the order of the run. A run of one workload has all of them
// from its start.
func (v *View) scenarios(workload string) (all []result.Scenario) {
	of := v.names(func(k result.Key) string {
		if k.Workload == workload {
			return k.Scenario
		}
		return ""
	})
	for _, s := range v.f.Run.Scenarios {
		if at := slices.Index(of, s.Name); at >= 0 || len(v.workloads()) <= 1 {
			all = append(all, s)
			of = slices.DeleteFunc(of, func(name string) bool { return name == s.Name })
		}
	}
	for _, name := range of {
		if name != "" {
			all = append(all, result.Scenario{Name: name})
		}
	}
	return all
}

// cell is that of a combination, or nil.
func (v *View) cell(k result.Key) *cell {
	if i := slices.IndexFunc(v.cells, func(c cell) bool { return c.Key == k }); i >= 0 {
		return &v.cells[i]
	}
	return nil
}

// title is a scenario's own, or its name.
func (v *View) title(name string) string {
	for _, s := range v.f.Run.Scenarios {
		if s.Name == name {
			return v.titleOf(s)
		}
	}
	return name
}

func (v *View) titleOf(s result.Scenario) string {
	switch {
	case v.say.Tag == lang.KoreanTag && s.TitleKO != "":
		return s.TitleKO
	case s.Title != "":
		return s.Title
	}
	return strings.ReplaceAll(s.Name, "-", " ")
}

// head says how much was run, and under which load.
func (v *View) head() {
	locks, scenarios := v.names(func(k result.Key) string { return k.Lock }), v.names(func(k result.Key) string { return k.Scenario })
	parts := []string{v.say.Count(int64(len(locks)), "1 lock", "%s locks") + " x " + v.say.Count(int64(len(scenarios)), "1 scenario", "%s scenarios")}
	if v.f.Run.Repeats > 1 {
		parts[0] += " x " + v.say.Sprintf("%d runs", v.f.Run.Repeats)
	}
	rate, shortest, longest := 0.0, math.Inf(1), 0.0
	for i := range v.f.Rows {
		rate = max(rate, v.f.Rows[i].Figures["offered_per_s"])
		for _, ms := range spells(v.f.Rows[i].Faults) {
			shortest, longest = min(shortest, ms), max(longest, ms)
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
	seconds := func(ms float64) string { return strconv.FormatFloat(math.Round(ms/100)/10, 'f', -1, 64) }
	switch {
	case longest < 50:
	case seconds(shortest) == seconds(longest):
		parts = append(parts, v.say.Sprintf("faults of %s s", seconds(longest)))
	default:
		parts = append(parts, v.say.Sprintf("faults of %s to %s s", seconds(shortest), seconds(longest)))
	}
	v.Head = strings.Join(parts, ", ")
}

// spells are how long faults lasted, in ms; several that overlap are one.
func spells(faults []result.Fault) (lengths []float64) {
	var spans [][2]float64
	for _, f := range faults {
		end := f.HealMS
		if end == result.Never || end-f.BeganMS < 1 { // it healed itself
			end = f.EndedMS
		}
		if f.BeganMS != result.Never && end > f.BeganMS && !f.Unasked {
			spans = append(spans, [2]float64{f.BeganMS, end})
		}
	}
	slices.SortFunc(spans, func(a, b [2]float64) int { return slices.Compare(a[:], b[:]) })
	end := math.Inf(-1)
	for _, s := range spans {
		if s[0] > end {
			lengths = append(lengths, 0)
			end = s[0]
		}
		lengths[len(lengths)-1] += max(s[1], end) - end
		end = max(s[1], end)
	}
	return lengths
}

// lab says whether the run did its own work.
func (v *View) lab() {
	var judged, expected, faults, proven, controls, silent, undecided int
	for i := range v.f.Rows {
		r := &v.f.Rows[i]
		switch r.Verdict.As {
		case result.AsExpected:
			expected++
		case result.Silent:
			silent++
		case result.Unsound:
			undecided++
		case result.NotAsExpected:
		default:
			judged--
		}
		judged++
		if r.Expected.Control() && r.Verdict.As != result.Unsound {
			controls++
		}
		for _, f := range r.Faults {
			if !f.Unasked {
				faults++
				if f.Proven {
					proven++
				}
			}
		}
	}
	var parts []string
	if judged > 0 {
		parts = append(parts, v.say.Sprintf("%d of %d as expected", expected, judged))
	}
	if faults > 0 {
		parts = append(parts, v.say.Sprintf("%d of %d faults proven", proven, faults))
	}
	switch {
	case silent > 0:
		parts = append(parts, v.say.Sprintf("%d of %d controls silent", silent, controls))
	case controls > 0:
		parts = append(parts, v.say.Text("every control showed it"))
	}
	if undecided > 0 {
		parts = append(parts, v.say.Sprintf("%d undecided", undecided))
	}
	v.Lab = strings.Join(parts, ", ")
}

// warnings are those of the run, and how it ended.
func (v *View) warnings() {
	switch run := v.f.Run; {
	case run.Interrupted:
		v.Warnings = append(v.Warnings, v.say.Text("The run was interrupted: rows are missing."))
	case run.Unfinished:
		v.Warnings = append(v.Warnings, v.say.Text("The run has not come to its end: rows are missing."))
	}
	v.Warnings = append(v.Warnings, v.f.Run.Warnings...)
}

// suggest names the cell to explain first, and what to run next.
func (v *View) suggest() {
	if c := v.first(); c != nil {
		v.Why = Suggestion{Command: "locklab why " + c.Lock + " " + c.Scenario, For: v.told(c)}
		if c.mark == table.Violation && c.n > 1 && len(c.Rows) == 1 {
			v.Why.For = v.say.Sprintf("the first of %s", v.Why.For)
		}
	}
	run := v.f.Run
	again := run.Command + " --repeat 5"
	switch {
	case run.Interrupted && v.o.Page != "":
		v.Next = Suggestion{"locklab run --resume " + path.Dir(v.o.Page), v.say.Text("what is missing")}
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
		elsewhere := slices.ContainsFunc(v.cells, func(o cell) bool { return o.Lock == c.Lock && (o.mark == table.OK || o.mark == table.Outage) })
		switch {
		case c.unexpected:
			return 4
		case c.mark == table.Violation && elsewhere:
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
