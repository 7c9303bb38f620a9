package reports

import (
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/noise"
	"locklab/reports/plots"
	"locklab/reports/result"
)

// comparison is what several runs show side by side. Differences are against the
// first run.
type comparison struct {
	Title, Lede string
	First       string
	Names       []string
	Outcome     int      // of all differences
	Said        []string // what the differences come to
	Undecided   string   // which rows are inconclusive, and why: for who does not see them
	Apart       []string // the runs that have nothing in common with the first
	Mismatch    string   // what is not the same in the runs, in a line
	Mismatches  []string
	Warnings    []string
	Changes     []string // how verdicts differ from those of the first run, or that none does
	Answers     []answer
	Meanings    string
	Groups      []comparisonGroup
	Unproven    string // the runs that have no page of evidence
	Outcomes    []status
	Method      []string
	Runs        []comparedRun
	glossary
	inlined
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
	Never    string // the figures that are 0 everywhere
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
	Unjudged string // why its differences are not
	Why      string // of a verdict that decides nothing
	Figures  []comparedFigure
	Span     int
}

// comparedFigure is a figure of a run, where it lies, and its difference from the first.
type comparedFigure struct {
	Label, Value, Interval string
	Href                   string // of its evidence; "" without any
	SVG                    template.HTML
	Change                 string
	Outcome                status
	More                   string // repeats that it takes, or why there is no test
	interval               noise.Interval
}

func compare(say *lang.Lang, runs []loaded, proofs []string) *comparison {
	files := make([]result.File, len(runs))
	names := runNames(runs)
	var unproven []string
	for i, address := range proofs {
		if address == "" {
			unproven = append(unproven, names[i])
		}
	}
	c := &comparison{
		Title:    say.Sprintf("%d runs side by side", len(runs)),
		First:    names[0],
		Names:    names,
		Unproven: say.List(unproven),
		glossary: glossary{Statuses: statuses(say), Terms: termGroups(say), LinkNote: say.Text(linkNote)},
	}
	var all []result.Row
	var origins []string
	for i, l := range runs {
		files[i] = result.Clean(l.File)
		origins = append(origins, originOf(say, names[i], files[i].Run))
		all = append(all, files[i].Results...)
		c.Runs = append(c.Runs, comparedRun{names[i], facts(say, files[i])})
		for _, w := range warnings(say, files[i].Run) {
			c.Warnings = append(c.Warnings, names[i]+": "+w)
		}
		if end := ending(say, files[i].Run); end.Topic != "" {
			c.Warnings = append(c.Warnings, names[i]+": "+end.Plain())
		}
	}
	c.Lede = say.List(origins)
	found := Differences(files)
	c.Outcome = outcomeOf(found)
	changed, told := changes(say, files, names)
	c.Changes, c.Said = told, slices.Concat(firstOf(say, changed), said(say, files, names, found))
	c.Outcomes, c.Method = outcomes(say), method(say)
	c.Undecided = undecidedRows(say, files, names)
	for _, i := range Apart(files) {
		c.Apart = append(c.Apart, say.Sprintf("Nothing in common: no row of %s is in %s.", names[0], names[i]))
	}
	c.Mismatch, c.Mismatches = mismatchText(say, files, names)
	for _, workload := range workloadsOf(all) {
		ofWorkload := rowsWith(all, func(r result.Row) bool { return r.Workload == workload })
		for _, scenario := range scenariosOf(ofWorkload) {
			rows := rowsWith(ofWorkload, func(r result.Row) bool { return r.Scenario == scenario })
			c.Groups = append(c.Groups, groupOf(say, files, names, proofs, rows, found))
		}
	}
	c.Answers, c.Meanings = answersOf(say, files, names, proofs), say.Text(meaningsNote)
	return c
}

// originOf is a run's name with what tells it from another of the same machine.
func originOf(say *lang.Lang, name string, r result.Run) string {
	hash, dirty, changed := strings.Cut(plain(r.Commit), "+")
	if hash = fmt.Sprintf("%.12s", hash); changed {
		hash += "+" + dirty
	}
	return say.Sprintf("%s (commit %s, seed %d)", name, hash, r.Seed)
}

// mismatchText says in a line what is not the same in the runs, and then each in one of its own.
func mismatchText(say *lang.Lang, files []result.File, names []string) (line string, all []string) {
	var what, refused []string
	for i, f := range files[1:] {
		for _, m := range mismatches(say, files[0], f) {
			if name := names[i+1]; m.Refuses && !slices.Contains(refused, name) {
				refused = append(refused, name)
			}
			if !slices.Contains(what, m.What) {
				what = append(what, m.What)
			}
			all = append(all, say.Sprintf("%s: %s in %s, %s in %s.", m.What, m.Was, names[0], m.Is, names[i+1]))
		}
	}
	switch {
	case len(what) == 0:
		return "", nil
	case len(refused) > 0 && len(refused) < len(files)-1:
		return say.Sprintf("Not the same in these runs: %s. Other things were asked of the locks in %s, whose differences are not judged.", say.List(what), say.List(refused)), all
	case len(refused) > 0:
		return say.Sprintf("Not the same in these runs: %s. Other things were asked of the locks, so no difference is judged.", say.List(what)), all
	}
	return say.Sprintf("Not the same in these runs: %s. A difference may come from that.", say.List(what)), all
}

// label is the name of a figure with its unit.
func label(say *lang.Lang, f result.Figure) string {
	if f.Unit == "" {
		return say.Term(f.ShortName())
	}
	return say.Term(f.ShortName()) + ", " + say.Term(f.Unit)
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

// compared are the figures of a comparison, availability first, and the names of those that
// are 0 everywhere.
func compared(say *lang.Lang, rows []result.Row) (used []result.Figure, never []string) {
	counted := violationOf(rows)
	for _, f := range chosen(rows, func(f result.Figure) bool { return f.Compare }) {
		high := f
		high.Better = result.Lower
		_, highest := worst(rows, high)
		switch {
		case f.As == result.Count && highest == 0 && f.Field != counted.Field:
			never = append(never, say.Term(f.ShortName()))
		case f.Field == result.AvailabilityField:
			used = slices.Insert(used, 0, f)
		default:
			used = append(used, f)
		}
	}
	return used, never
}

// groupOf compares the rows of one scenario with one workload.
func groupOf(say *lang.Lang, files []result.File, names, proofs []string, rows []result.Row, found []Difference) comparisonGroup {
	scenario, workload := rows[0].Scenario, rows[0].Workload
	g := comparisonGroup{Title: plain(scenario) + ", " + plain(workload)}
	used, never := compared(say, rows)
	g.Never = strings.Join(never, ", ")
	for _, f := range used {
		g.Measures = append(g.Measures, label(say, f))
	}
	for _, lock := range locksOf(rows) {
		line := comparedLock{Lock: plain(lock)}
		for i, file := range files {
			r, present := findRow(file.Results, lock, scenario, workload)
			row := comparedRow{Name: names[i], Present: present, Span: 1 + len(used)}
			for j := 0; present && j < len(used); j++ {
				f := used[j]
				cell := comparedFigure{Label: g.Measures[j], Value: shown(say, f, r)}
				if v, _ := f.Of(r); v > 0 && proofs[i] != "" {
					cell.Href = proofs[i] + "#" + rowID(r)
				}
				at := slices.IndexFunc(found, func(d Difference) bool {
					return d.Run == i && d.Lock == lock && d.Scenario == scenario && d.Workload == workload && d.Figure.Field == f.Field
				})
				if at >= 0 {
					cell.Change, cell.Outcome, cell.More = differenceText(say, found[at])
					if why := found[at].Untested; why == busyMachine || why == rowInconclusive || why == otherConditions && len(files) > 2 { // of two, the head says it
						row.Unjudged = untestedText(say, why)
					}
				}
				iv := intervalOf(f, r)
				if cell.interval = iv; (iv.Confidence > 0 || len(r.PerRepeat) > 1) && !math.IsNaN(iv.Center) { // of the repeats that the difference is of
					cell.Value = valueText(f, iv.Center)
				}
				if iv.Confidence > 0 && iv.Low < iv.High {
					cell.Interval = say.Sprintf("%s to %s", strings.TrimSuffix(valueText(f, iv.Low), "%"), valueText(f, iv.High))
				}
				if f.Field == result.OutageField && isFloor(r, iv.Center) {
					cell.Value = "≥ " + cell.Value
				}
				row.Figures = append(row.Figures, cell)
			}
			if present {
				row.Status = statusOf(say, r.Verdict)
				if r.Verdict.Undecided() {
					row.Why = why(say, r.Verdict)
				}
				_, row.Liveness = seen(say, r.Verdict)
			}
			line.Runs = append(line.Runs, row)
		}
		for j := range used {
			drawWhiskers(line.Runs, j)
		}
		g.Locks = append(g.Locks, line)
	}
	return g
}

// drawWhiskers draws the intervals of the j-th figure of a lock on one axis, from run to run.
func drawWhiskers(runs []comparedRow, j int) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range runs {
		if r.Present && r.Figures[j].interval.Confidence > 0 {
			low, high = min(low, r.Figures[j].interval.Low), max(high, r.Figures[j].interval.High)
		}
	}
	if !(low < high) {
		return
	}
	at := func(v float64) float64 { return (v - low) / (high - low) }
	for i, r := range runs {
		if !r.Present || r.Figures[j].interval.Confidence == 0 {
			continue
		}
		f := &r.Figures[j]
		f.SVG = template.HTML(plots.Whisker(plots.LockInk(min(i, 1)), at(f.interval.Low), at(f.interval.Center), at(f.interval.High))) //nolint:gosec // drawn by plots
	}
}

// intervalOf is where a figure of a row lies; without a Confidence if nobody knows.
func intervalOf(f result.Figure, r result.Row) noise.Interval {
	s := sampleOf(r, f)
	iv := s.Interval()
	iv.Low = max(iv.Low, 0)
	if f.Most > 0 {
		iv.High = min(iv.High, f.Most)
	}
	return iv
}

// valueText writes one value of a figure. Medians of counts may lie between two.
func valueText(f result.Figure, v float64) string {
	switch {
	case f.As == result.Share:
		return percent(v)
	case f.As == result.Count && (v == math.Trunc(v) || v > 1000):
		return count(int64(math.Round(v)))
	}
	return figure(v)
}

// firstOf are the first of the changed verdicts, for the head of a page and for lists.
func firstOf(say *lang.Lang, changed []string) []string {
	const most = 4
	all := slices.Clone(changed[:min(len(changed), most)])
	if more := len(changed) - most; more > 0 {
		all = append(all, say.Count(int64(more), "1 more verdict is another: see the report.", "%s more verdicts are others: see the report."))
	}
	return all
}

// changes says in words what verdicts are not the same as in the first run, safety before all, and
// also that there are none.
func changes(say *lang.Lang, files []result.File, names []string) (changed, all []string) {
	var safety, liveness, status []string
	shared := false
	for i, f := range files[1:] {
		for _, r := range byScenario(f.Results) {
			first, ok := findRow(files[0].Results, r.Lock, r.Scenario, r.Workload)
			if !ok {
				continue
			}
			shared = true
			where := say.Sprintf("%s: %s under %s", names[i+1], plain(r.Lock), plain(r.Scenario))
			if before, after := quietOf(first), quietOf(r); before.busy || after.busy || before.leftOut+after.leftOut > 0 {
				where = say.Sprintf("%s, with repeats during which others used the machine", where)
			}
			if a, b := statusOf(say, first.Verdict), statusOf(say, r.Verdict); a.Word != b.Word {
				status = append(status, say.Sprintf("%s is %s; it was %s.", where, b.Word, a.Word))
			}
			was, wasLive := seen(say, first.Verdict)
			is, isLive := seen(say, r.Verdict)
			if wasLive != isLive {
				liveness = append(liveness, say.Sprintf("%s: liveness is %s; it was %s.", where, isLive, wasLive))
			}
			if was != is {
				safety = append(safety, say.Sprintf("%s: safety is %s; it was %s.", where, is, was))
			}
		}
	}
	changed = slices.Concat(safety, status, liveness)
	switch all = changed; {
	case !shared:
		all = append(all, say.Sprintf("No other run shares a lock, a scenario and a workload with %s.", names[0]))
	case len(all) == 0:
		all = append(all, say.Text("The verdicts are the same wherever the runs share a lock, a scenario and a workload."))
	}
	return changed, all
}
