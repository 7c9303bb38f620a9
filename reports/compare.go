package reports

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/result"
)

// comparison is what several runs show side by side. Differences are against the
// first run.
type comparison struct {
	Title, Lede string
	First       string
	Warnings    []string
	Changes     []string
	Answers     []answer
	Meanings    string
	Groups      []comparisonGroup
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

func compare(say *lang.Lang, runs []loaded) *comparison {
	files := make([]result.File, len(runs))
	names := runNames(runs)
	c := &comparison{
		Title:    say.Sprintf("%d runs side by side", len(runs)),
		Lede:     say.List(names),
		First:    names[0],
		glossary: glossary{Statuses: statuses(say), Terms: termGroups(say), LinkNote: say.Text(linkNote)},
	}
	var all []result.Row
	for i, l := range runs {
		files[i] = result.Clean(l.File)
		all = append(all, files[i].Results...)
		c.Runs = append(c.Runs, comparedRun{names[i], facts(say, files[i])})
		for _, w := range files[i].Run.Warnings {
			c.Warnings = append(c.Warnings, names[i]+": "+recorded(say, w))
		}
		if end := ending(say, files[i].Run); end.Topic != "" {
			c.Warnings = append(c.Warnings, names[i]+": "+end.Plain())
		}
	}
	c.Warnings = append(differences(say, files, names), c.Warnings...)
	for _, workload := range workloadsOf(all) {
		ofWorkload := rowsWith(all, func(r result.Row) bool { return r.Workload == workload })
		for _, scenario := range scenariosOf(ofWorkload) {
			rows := rowsWith(ofWorkload, func(r result.Row) bool { return r.Scenario == scenario })
			c.Groups = append(c.Groups, groupOf(say, files, names, rows, scenario, workload))
		}
	}
	c.Changes = changes(say, files, names)
	c.Answers, c.Meanings = answersOf(say, files, names), say.Text(meaningsNote)
	return c
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

func groupOf(say *lang.Lang, files []result.File, names []string, rows []result.Row, scenario, workload string) comparisonGroup {
	g := comparisonGroup{Title: plain(scenario) + ", " + plain(workload)}
	used := chosen(rows, func(f result.Figure) bool { return f.Compare })
	for _, f := range used {
		g.Measures = append(g.Measures, label(say, f))
	}
	for _, lock := range locksOf(rows) {
		line := comparedLock{Lock: plain(lock)}
		first, hasFirst := findRow(files[0].Results, lock, scenario, workload)
		for i, f := range files {
			r, present := findRow(f.Results, lock, scenario, workload)
			row := comparedRow{Name: names[i], Present: present, Span: 2 + len(used)}
			if present {
				row.Status = statusOf(say, r.Verdict)
				_, row.Liveness = seen(say, r.Verdict)
				for _, f := range used {
					figure := comparedFigure{Value: shown(say, f, r)}
					if i > 0 && hasFirst {
						figure.Change = change(say, f, first, r)
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
func change(say *lang.Lang, f result.Figure, first, r result.Row) string {
	before, known := f.Of(first)
	after, ok := f.Of(r)
	d := after - before
	sign := "+"
	if d < 0 {
		sign = "−"
	}
	switch {
	case !known || !ok:
		return ""
	case d == 0:
		return say.Text("same")
	case before == 0:
		return sign + figure(math.Abs(d))
	default:
		return fmt.Sprintf("%s%.0f%%", sign, math.Abs(d)/before*100)
	}
}

// differences warns of what makes the runs hard to compare.
func differences(say *lang.Lang, files []result.File, names []string) []string {
	var warnings []string
	tell := func(what string, of func(result.File) string) {
		var parts []string
		differ := false
		for i, f := range files {
			value := of(f)
			differ = differ || value != of(files[0])
			if value == "" {
				value = say.Text("not recorded")
			}
			parts = append(parts, names[i]+": "+plain(value))
		}
		if differ {
			warnings = append(warnings, say.Sprintf("The runs differ in %s, so their figures compare badly. %s.", what, strings.Join(parts, "; ")))
		}
	}
	tell(say.Text("the host"), func(f result.File) string { return hostText(say, f.Run.Host) })
	tell(say.Text("the topology"), func(f result.File) string { return f.Run.Topology })
	tell(say.Text("the versions of the servers"), func(f result.File) string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(f.Run.Versions)) {
			parts = append(parts, name+" "+f.Run.Versions[name])
		}
		return strings.Join(parts, ", ")
	})
	tell(say.Text("the version of Go"), func(f result.File) string { return f.Run.Host.Go })
	tell(say.Text("the offered rate"), func(f result.File) string { return offeredText(say, f) })
	if slices.ContainsFunc(files, func(f result.File) bool { return tookDiffers(files[0], f) }) {
		tell(say.Text("how long they took"), func(f result.File) string { return tookText(say, f.Run.DurationMS) })
	}
	return warnings
}

// tookDiffers allows for a tenth: two runs of the same plan never take the same
// time to the millisecond.
func tookDiffers(a, b result.File) bool {
	x, y := float64(a.Run.DurationMS), float64(b.Run.DurationMS)
	return math.Abs(x-y) > 0.1*max(x, y)
}

func offeredText(say *lang.Lang, f result.File) string {
	var rates []string
	for _, r := range f.Results {
		if text := say.Sprintf("%s per second", figure(math.Round(r.OfferedPerS))); !slices.Contains(rates, text) {
			rates = append(rates, text)
		}
	}
	slices.Sort(rates)
	return strings.Join(rates, ", ")
}

// changes says in words what is not the same as in the first run.
func changes(say *lang.Lang, files []result.File, names []string) []string {
	var all []string
	shared := false
	for i, f := range files[1:] {
		for _, r := range byScenario(f.Results) {
			first, ok := findRow(files[0].Results, r.Lock, r.Scenario, r.Workload)
			if !ok {
				continue
			}
			shared = true
			where := say.Sprintf("%s: %s under %s", names[i+1], plain(r.Lock), plain(r.Scenario))
			if a, b := statusOf(say, first.Verdict), statusOf(say, r.Verdict); a.Word != b.Word {
				all = append(all, say.Sprintf("%s is %s; it was %s.", where, b.Word, a.Word))
			}
			was, wasLive := seen(say, first.Verdict)
			is, isLive := seen(say, r.Verdict)
			if wasLive != isLive {
				all = append(all, say.Sprintf("%s: liveness is %s; it was %s.", where, isLive, wasLive))
			}
			if was != is {
				all = append(all, say.Sprintf("%s: safety is %s; it was %s.", where, is, was))
			}
		}
	}
	switch {
	case !shared:
		all = append(all, say.Sprintf("No other run shares a lock, a scenario and a workload with %s.", names[0]))
	case len(all) == 0:
		all = append(all, say.Text("The verdicts are the same wherever the runs share a lock, a scenario and a workload."))
	}
	return all
}
