package reports

import (
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"

	"locklab/reports/plots"
	"locklab/reports/result"
	"locklab/reports/series"
)

// EvidenceFile has what stands behind the figures of a run.
const EvidenceFile = "evidence.html"

// evidence is what happened around the violations of each row.
type evidence struct {
	Title string
	Locks []evidenceLock
	Rows  []evidenceRow
	inlined
}

// evidenceLock is the rows of one lock in the table of contents.
type evidenceLock struct {
	Lock string
	Rows []evidenceLink
}

type evidenceLink struct{ ID, Title, Scenario, Workload string }

type evidenceRow struct {
	ID, Title, Why string
	Note           string // what of its histories is missing
	Counts         []cellLine
	Errors         []string
	Histories      []string
	Faults         []ledgerEntry
	Scenes         []scene
}

type scene struct {
	What, Text, At, Resource string
	Faults                   []string
	SVG                      template.HTML
	Steps                    []sceneStep
}

type sceneStep struct{ At, For, Who, What, Text string }

func evidenceOf(l loaded) *evidence {
	f := result.Clean(l.File)
	e := &evidence{Title: title(f)}
	for i, r := range f.Results {
		row := evidenceRow{
			ID: rowID(r), Title: plain(r.Lock) + " under " + plain(r.Scenario) + ", " + plain(r.Workload), Why: plain(r.Verdict.Why),
			Counts: cellOf(r, violationOf([]result.Row{r})).Lines, Histories: plainAll(r.Histories), Faults: entriesOf([]result.Row{r}), Note: l.Notes[i],
		}
		for _, kind := range slices.Sorted(maps.Keys(r.Errors)) {
			row.Errors = append(row.Errors, plain(kind)+" "+count(r.Errors[kind]))
		}
		for _, s := range l.Scenes[i] {
			row.Scenes = append(row.Scenes, sceneOf(s))
		}
		e.Rows = append(e.Rows, row)
	}
	several := len(workloadsOf(f.Results)) > 1
	for _, lock := range locksOf(f.Results) {
		line := evidenceLock{Lock: plain(lock)}
		for i, r := range f.Results {
			if r.Lock != lock {
				continue
			}
			link := evidenceLink{ID: e.Rows[i].ID, Title: e.Rows[i].Title, Scenario: plain(r.Scenario)}
			if several {
				link.Workload = plain(r.Workload)
			}
			line.Rows = append(line.Rows, link)
		}
		e.Locks = append(e.Locks, line)
	}
	return e
}

func sceneOf(s series.Scene) scene {
	out := scene{
		What: plain(s.What), Text: plain(s.Text), At: figure(math.Round(s.AtMS)) + " ms", Resource: plain(s.Resource), Faults: plainAll(s.Faults),
		SVG: template.HTML(plots.Timeline(s)), //nolint:gosec // drawn and escaped by plots
	}
	for _, step := range s.Steps {
		lasted := ""
		switch d := step.ToMS - step.FromMS; {
		case math.IsInf(d, 0):
			lasted = "no end on record"
		case d > 0:
			lasted = fmt.Sprintf("%.1f ms", d)
		}
		out.Steps = append(out.Steps, sceneStep{fmt.Sprintf("%+.1f", step.FromMS), lasted, plain(step.Who), step.What, plain(step.Text)})
	}
	return out
}
