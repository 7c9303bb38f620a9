package reports

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"locklab/reports/plots"
	"locklab/reports/result"
)

//go:embed assets
var assets embed.FS

// page is what the template of a run's report shows.
type page struct {
	Title, Lede string
	Banner      finding // that the run did not come to its end; empty if it did
	Warnings    []string
	Notes       []string
	Answers     []answer
	Meanings    string
	Check       check
	Cost        []finding
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
	glossary
	inlined
}

// glossary explains the words and figures of a report.
type glossary struct {
	Statuses []status
	Terms    []termGroup
	LinkNote string
	LinkCost string
}

// inlined are what makes a page whole by itself.
type inlined struct {
	Style  template.CSS
	Script template.JS
}

type matrix struct {
	Workload  string
	Scenarios []string
	Rows      []matrixRow
	Figures   figureTable
}

// figureTable is the table of the most important figures.
type figureTable struct {
	Columns []figureColumn
	Rows    [][]string
}

type figureColumn struct {
	Name string
	Text bool
}

type matrixRow struct {
	Lock  string
	Ink   string
	Cells []cell
}

type cell struct {
	Run       bool
	ID, Class string
	Meaning   meaning
	Status    status
	Words     []string // safety and liveness
	Lines     []cellLine
	Why       string
}

type cellLine struct {
	Name, Value string
	Meaning     meaning
}

type ledgerEntry struct {
	Lock, Scenario, Workload, Kind, Target string
	Asked, Began, Ended                    string
	Proven                                 bool
	Log                                    []string
}

func pageOf(l loaded) *page {
	f := result.Clean(l.File)
	p := &page{
		Title:      title(f),
		Lede:       lede(f),
		Banner:     ending(f.Run),
		Warnings:   plainAll(f.Run.Warnings),
		Notes:      slices.DeleteFunc(slices.Clone(l.Notes), func(note string) bool { return note == "" }),
		Answers:    answersOf([]result.File{f}, nil),
		Meanings:   meaningsNote,
		Check:      checkOf(f.Results),
		Details:    detailsOf(byScenario(f.Results)),
		Sections:   sectionsOf(f, l.Series),
		Waits:      waitsOf(f.Results),
		WaitNote:   waitNote,
		Ledger:     ledger(f.Results),
		Entries:    entriesOf(f.Results),
		Facts:      facts(f),
		Clocks:     clocksOf(f.Run),
		ClocksNote: clocksNote,
		glossary:   glossary{statuses(), termGroups(), linkNote, linkText(f.Run.LinkCost)},
	}
	for _, one := range findings(f) {
		if one.Topic == topicCost {
			p.Cost = append(p.Cost, one)
		}
	}
	for _, workload := range workloadsOf(f.Results) {
		p.Matrices = append(p.Matrices, matrixOf(f, workload))
	}
	return p
}

// title says what was compared.
func title(f result.File) string {
	locks, scenarios := len(locksOf(f.Results)), len(scenariosOf(f.Results))
	if locks == 0 {
		return "a run without results"
	}
	return fmt.Sprintf("%s under %s", plural(int64(locks), "lock"), plural(int64(scenarios), "scenario"))
}

// html fills a template of a page.
func html(name string, data interface{ inline(inlined) }) ([]byte, error) {
	css, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return nil, err
	}
	js, err := assets.ReadFile("assets/page.js")
	if err != nil {
		return nil, err
	}
	data.inline(inlined{template.CSS(css), template.JS(js)}) //nolint:gosec // our own files
	t, err := template.New(name).ParseFS(assets, "assets/parts.html", "assets/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}

func (l *inlined) inline(with inlined) { *l = with }

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

func matrixOf(f result.File, workload string) matrix {
	rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
	counted, inks := violationOf(rows), inksOf(f.Results)
	m := matrix{Workload: plain(workload), Scenarios: plainAll(scenariosOf(rows))}
	for _, lock := range locksOf(rows) {
		line := matrixRow{Lock: plain(lock), Ink: string(inks[lock])}
		for _, scenario := range scenariosOf(rows) {
			c := cell{}
			if r, ok := findRow(rows, lock, scenario, workload); ok {
				c = cellOf(r, counted)
			}
			line.Cells = append(line.Cells, c)
		}
		m.Rows = append(m.Rows, line)
	}
	columns := chosen(rows, func(f result.Figure) bool { return f.InMarkdown })
	for _, c := range columns {
		m.Figures.Columns = append(m.Figures.Columns, figureColumn{c.ShortName(), c.IsText()})
	}
	for _, r := range byScenario(rows) {
		var line []string
		for _, c := range columns {
			line = append(line, shown(c, r))
		}
		m.Figures.Rows = append(m.Figures.Rows, line)
	}
	return m
}

// cellOf shows a row by what it means for a user.
func cellOf(r result.Row, counted result.Figure) cell {
	c := cell{Run: true, ID: rowID(r), Status: statusOf(r.Verdict), Why: plain(r.Verdict.Why)}
	level := open
	for _, f := range answerColumns([]result.Row{r}) {
		if f.Violation != "" && f.Violation != counted.Violation {
			continue
		}
		line := cellLine{Name: f.Answer, Meaning: meaningOf(f, r)}
		v, _ := f.Of(r)
		line.Value = told(f, v)
		level = max(level, line.Meaning)
		c.Lines = append(c.Lines, line)
		if d := r.Duplicates; f.Violation == "duplicate" && d != nil {
			for _, part := range []struct {
				name string
				n    int64
			}{{"in warm-up", d.Warmup}, {"unreachable", d.Unreachable}} {
				if part.n > 0 {
					c.Lines = append(c.Lines, cellLine{Name: part.name, Value: count(part.n)})
				}
			}
		}
	}
	if r.Verdict.Status == result.StatusInconclusive {
		level = open
	}
	c.Meaning, c.Class = level, level.Class()
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
