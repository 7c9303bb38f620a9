package reports

import (
	"fmt"
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

func compare(runs []loaded) *comparison {
	files := make([]result.File, len(runs))
	names := runNames(runs)
	c := &comparison{
		Title:    fmt.Sprintf("%d runs side by side", len(runs)),
		Lede:     list(names),
		First:    names[0],
		glossary: glossary{Statuses: statuses(), Terms: termGroups(), LinkNote: linkNote},
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
	c.Answers, c.Meanings = answersOf(files, names), meaningsNote
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
	used := chosen(rows, func(f result.Figure) bool { return f.Compare })
	for _, f := range used {
		g.Measures = append(g.Measures, f.Label())
	}
	for _, lock := range locksOf(rows) {
		line := comparedLock{Lock: plain(lock)}
		first, hasFirst := findRow(files[0].Results, lock, scenario, workload)
		for i, f := range files {
			r, present := findRow(f.Results, lock, scenario, workload)
			row := comparedRow{Name: names[i], Present: present, Span: 2 + len(used)}
			if present {
				row.Status = statusOf(r.Verdict)
				_, row.Liveness = seen(r.Verdict)
				for _, f := range used {
					figure := comparedFigure{Value: shown(f, r)}
					if i > 0 && hasFirst {
						figure.Change = change(f, first, r)
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
func change(f result.Figure, first, r result.Row) string {
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
		return "same"
	case before == 0:
		return sign + figure(math.Abs(d))
	default:
		return fmt.Sprintf("%s%.0f%%", sign, math.Abs(d)/before*100)
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
	shared := false
	for i, f := range files[1:] {
		for _, r := range byScenario(f.Results) {
			first, ok := findRow(files[0].Results, r.Lock, r.Scenario, r.Workload)
			if !ok {
				continue
			}
			shared = true
			where := fmt.Sprintf("%s: %s under %s", names[i+1], plain(r.Lock), plain(r.Scenario))
			if a, b := statusOf(first.Verdict), statusOf(r.Verdict); a.Word != b.Word {
				all = append(all, fmt.Sprintf("%s is %s; it was %s.", where, b.Word, a.Word))
			}
			was, wasLive := seen(first.Verdict)
			is, isLive := seen(r.Verdict)
			if wasLive != isLive {
				all = append(all, fmt.Sprintf("%s: liveness is %s; it was %s.", where, isLive, wasLive))
			}
			if was != is {
				all = append(all, fmt.Sprintf("%s: safety is %s; it was %s.", where, is, was))
			}
		}
	}
	switch {
	case !shared:
		all = append(all, "No other run shares a lock, a scenario and a workload with "+names[0]+".")
	case len(all) == 0:
		all = append(all, "The verdicts are the same wherever the runs share a lock, a scenario and a workload.")
	}
	return all
}
