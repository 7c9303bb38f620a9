package reports

import (
	"bytes"
	"embed"
	"html/template"
	"strings"

	"locklab/reports/plots"
	"locklab/reports/result"
)

//go:embed assets/page.html assets/comparison.html assets/parts.html assets/page.css assets/page.js
var assets embed.FS

// page is what the template of a run's report shows.
type page struct {
	Title, Lede string
	Banner      finding // that the run did not come to its end; empty if it did
	Warnings    []string
	Notes       []string
	Tally       []tally
	Topics      []topic
	Matrices    []matrix
	Details     details
	Sections    []plotSection
	Waits       []waitTable
	WaitNote    string
	Ledger      []ledgerLine
	Entries     []ledgerEntry
	Facts       []fact
	Clocks      []clockLine
	ClocksNote  string
	Statuses    []status
	Terms       []termGroup
	LinkNote    string
	LinkCost    string
	Style       template.CSS
	Script      template.JS
}

type tally struct {
	status
	Count int
}

type topic struct {
	Name     string
	Findings []finding
}

type termGroup struct {
	Name  string
	Terms []term
}

type matrix struct {
	Workload  string
	Scenarios []string
	Rows      []matrixRow
}

type matrixRow struct {
	Lock  string
	Ink   string
	Cells []cell
}

type cell struct {
	Run    bool
	Status status
	Words  []string // safety and liveness
	Lines  []cellLine
	Why    string
}

type cellLine struct {
	Name, Value string
	Strong      bool
}

type ledgerEntry struct {
	Lock, Scenario, Workload, Kind, Target string
	Asked, Began, Ended                    string
	Proven                                 bool
	Log                                    []string
}

func pageOf(l loaded) ([]byte, error) {
	f := result.Clean(l.File)
	p := page{
		Title:      title(f),
		Lede:       lede(f),
		Banner:     ending(f.Run),
		Warnings:   plainAll(f.Run.Warnings),
		Notes:      l.Notes,
		Tally:      tallyOf(f.Results),
		Topics:     topicsOf(findings(f)),
		Details:    detailsOf(byScenario(f.Results)),
		Sections:   sectionsOf(f, l.Series),
		Waits:      waitsOf(f.Results),
		WaitNote:   waitNote,
		Ledger:     ledger(f.Results),
		Entries:    entriesOf(f.Results),
		Facts:      facts(f),
		Clocks:     clocksOf(f.Run),
		ClocksNote: clocksNote,
		Statuses:   statuses(),
		Terms:      termGroups(),
		LinkNote:   linkNote,
		LinkCost:   linkText(f.Run.LinkCost),
	}
	for _, workload := range workloadsOf(f.Results) {
		p.Matrices = append(p.Matrices, matrixOf(f, workload))
	}
	return execute("page.html", &p, func(css template.CSS, js template.JS) { p.Style, p.Script = css, js })
}

// execute fills a template with the embedded style and script.
func execute(name string, data any, set func(template.CSS, template.JS)) ([]byte, error) {
	css, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return nil, err
	}
	js, err := assets.ReadFile("assets/page.js")
	if err != nil {
		return nil, err
	}
	set(template.CSS(css), template.JS(js)) //nolint:gosec // our own files
	t, err := template.New(name).ParseFS(assets, "assets/parts.html", "assets/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func lede(f result.File) string {
	var parts []string
	if w := workloadsOf(f.Results); len(w) > 0 {
		parts = append(parts, "Workload "+list(plainAll(w)))
	}
	if f.Run.Topology != "" {
		parts = append(parts, "topology "+plain(f.Run.Topology))
	}
	if at := startedText(f.Run.Started); at != "" {
		parts = append(parts, at)
	}
	return strings.Join(parts, " · ")
}

func tallyOf(rows []result.Row) []tally {
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.Verdict.Status]++
	}
	var all []tally
	for _, s := range []string{result.StatusViolated, result.StatusControlSilent, result.StatusInconclusive, result.StatusExpected, result.StatusNotJudged, ""} {
		if counts[s] > 0 {
			all = append(all, tally{statusOf(result.Verdict{Status: s}), counts[s]})
		}
	}
	return all
}

func topicsOf(all []finding) []topic {
	var topics []topic
	for _, name := range []string{topicRun, topicVerdicts, topicLocks, topicCost} {
		var found []finding
		for _, one := range all {
			if one.Topic == name {
				found = append(found, one)
			}
		}
		if len(found) > 0 {
			topics = append(topics, topic{name, found})
		}
	}
	return topics
}

func matrixOf(f result.File, workload string) matrix {
	rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
	things := thingOf(rows)
	inks := inksOf(f.Results)
	m := matrix{Workload: plain(workload), Scenarios: plainAll(scenariosOf(rows))}
	for _, lock := range locksOf(rows) {
		line := matrixRow{Lock: plain(lock), Ink: string(inks[lock])}
		for _, scenario := range scenariosOf(rows) {
			r, ok := findRow(rows, lock, scenario, workload)
			if !ok {
				line.Cells = append(line.Cells, cell{})
				continue
			}
			line.Cells = append(line.Cells, cellOf(r, things))
		}
		m.Rows = append(m.Rows, line)
	}
	return m
}

func cellOf(r result.Row, things thing) cell {
	c := cell{Run: true, Status: statusOf(r.Verdict), Why: plain(r.Verdict.Why)}
	if things.of != nil {
		if n, ok := things.of(r); ok {
			c.Lines = append(c.Lines, cellLine{Name: things.many, Value: count(n), Strong: n > 0})
		}
	}
	if r.Duplicates != nil && r.Duplicates.Warmup > 0 {
		c.Lines = append(c.Lines, cellLine{Name: "in the warm-up", Value: count(r.Duplicates.Warmup), Strong: true})
	}
	if r.Duplicates != nil && r.Duplicates.Unreachable > 0 {
		c.Lines = append(c.Lines, cellLine{Name: "unreachable", Value: count(r.Duplicates.Unreachable)})
	}
	if r.StallMS != nil {
		c.Lines = append(c.Lines, cellLine{Name: "stall", Value: span(*r.StallMS), Strong: r.Verdict.Liveness == "down" || r.Verdict.Liveness == "stalls"})
	}
	c.Lines = append(c.Lines, cellLine{Name: "served", Value: percent(r.Availability), Strong: r.Availability < quietShare})
	if p99 := quantile(r, func(q *result.Quantiles) float64 { return q.P99 }); p99 != absent {
		c.Lines = append(c.Lines, cellLine{Name: "p99 of these", Value: p99 + " ms"})
	}
	for _, word := range []string{r.Verdict.Safety, r.Verdict.Liveness} {
		if word != "" {
			c.Words = append(c.Words, word)
		}
	}
	return c
}

func entriesOf(rows []result.Row) []ledgerEntry {
	var all []ledgerEntry
	for _, r := range byScenario(rows) {
		for _, f := range r.Faults {
			all = append(all, ledgerEntry{
				Lock: plain(r.Lock), Scenario: plain(r.Scenario), Workload: plain(r.Workload),
				Kind: plain(f.Kind), Target: orAbsent(f.Target),
				Asked: moment(f.AskedMS), Began: moment(f.BeganMS), Ended: moment(f.EndedMS), Proven: f.Proven, Log: plainAll(f.Log),
			})
		}
	}
	return all
}

func termGroups() []termGroup {
	return []termGroup{
		{"Duplicates and their causes", duplicateTerms()},
		{"Safety and liveness", livenessTerms()},
		{"Figures", measureTerms()},
	}
}

// inksOf gives every lock its colour, the same in all figures of the report.
func inksOf(rows []result.Row) map[string]plots.Ink {
	inks := map[string]plots.Ink{}
	next := 1
	for _, lock := range locksOf(rows) {
		if lock == "none" {
			inks[lock] = plots.LockInk(0) // the neutral one
			continue
		}
		inks[lock] = plots.LockInk(next)
		if next++; next%12 == 0 {
			next++
		}
	}
	return inks
}
