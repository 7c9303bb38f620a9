package reports

import (
	"bytes"
	"embed"
	"html/template"
	"strings"

	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/result"
	"locklab/workloads/history"
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
	Claims      []claimLine // of a suite
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
	Blank     string // what a cell without a run means; "" if there is none
	Figures   figureTable
}

// figureTable is the table of the most important figures.
type figureTable struct {
	Columns []figureColumn
	Rows    [][]string
	Legend  []string // of the marks in it
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
	Unfit     bool // the scenario does not apply to the lock
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
	Part        bool // it says more of the line before it, and means nothing by itself
}

type ledgerEntry struct {
	Lock, Scenario, Workload string
	Kind, Target, Name       string // the last has both
	Asked, Began, Ended      string
	Proven                   bool
	Log                      []string
}

func pageOf(say *lang.Lang, l loaded) *page {
	f := result.Clean(l.File)
	p := &page{
		Title:      title(say, f),
		Lede:       lede(say, f),
		Banner:     ending(say, f.Run),
		Warnings:   warnings(say, f.Run),
		Notes:      notesOf(say, l),
		Answers:    answersOf(say, []result.File{f}, nil, []string{FileIn(say, EvidenceFile)}),
		Meanings:   say.Text(meaningsNote),
		Check:      checkOf(say, f.Results),
		Claims:     claimsOf(say, f),
		Details:    detailsOf(say, byScenario(f.Results)),
		Sections:   sectionsOf(say, f, l.Series),
		Waits:      waitsOf(say, f.Results),
		WaitNote:   say.Text(waitNote),
		Ledger:     ledger(say, f.Results),
		Entries:    entriesOf(say, f.Results),
		Facts:      facts(say, f),
		Clocks:     clocksOf(say, f.Run),
		ClocksNote: say.Text(clocksNote),
		glossary:   glossary{statuses(say), termGroups(say), say.Text(linkNote), linkText(say, f.Run.LinkCost)},
	}
	for _, one := range findings(say, f) {
		if one.Topic == topicCost {
			p.Cost = append(p.Cost, one)
		}
	}
	for _, workload := range workloadsOf(f.Results) {
		p.Matrices = append(p.Matrices, matrixOf(say, f, workload))
	}
	return p
}

// title says what was compared.
func title(say *lang.Lang, f result.File) string {
	locks, scenarios := len(locksOf(f.Results)), len(scenariosOf(f.Results))
	if locks == 0 {
		return say.Text("a run without results")
	}
	return say.Sprintf("%[1]s under %[2]s", say.Count(int64(locks), "1 lock", "%s locks"), say.Count(int64(scenarios), "1 scenario", "%s scenarios"))
}

// html fills a template of a page.
func html(say *lang.Lang, name, file string, data interface{ inline(inlined) }) ([]byte, error) {
	css, err := assets.ReadFile("assets/page.css")
	if err != nil {
		return nil, err
	}
	js, err := assets.ReadFile("assets/page.js")
	if err != nil {
		return nil, err
	}
	data.inline(inlined{template.CSS(css), template.JS(js)}) //nolint:gosec // our own files
	funcs, err := texts(say, file)
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Funcs(funcs).ParseFS(assets, "assets/parts.html", "assets/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}

func (l *inlined) inline(with inlined) { *l = with }

func lede(say *lang.Lang, f result.File) string {
	var parts []string
	if w := workloadsOf(f.Results); len(w) > 0 {
		parts = append(parts, say.Sprintf("Workload %s", say.List(plainAll(w))))
	}
	if f.Run.Topology != "" {
		parts = append(parts, say.Sprintf("topology %s", plain(f.Run.Topology)))
	}
	if at := startedText(f.Run.Started); at != "" {
		parts = append(parts, at)
	}
	return strings.Join(parts, " · ")
}

// blankNote explains cells without a run.
const blankNote = "Not run: the two were not run together. Does not apply: the scenario has nothing to break for that lock."

func matrixOf(say *lang.Lang, f result.File, workload string) matrix {
	rows := rowsWith(f.Results, func(r result.Row) bool { return r.Workload == workload })
	counted, inks := violationOf(rows), inksOf(f.Results)
	m := matrix{Workload: plain(workload), Scenarios: plainAll(scenariosOf(rows))}
	for _, lock := range locksOf(rows) {
		line := matrixRow{Lock: plain(lock), Ink: string(inks[lock])}
		for _, scenario := range scenariosOf(rows) {
			c := cell{Unfit: unfit(f.Run, lock, scenario)}
			if r, ok := findRow(rows, lock, scenario, workload); ok {
				c = cellOf(say, r, counted)
			}
			if !c.Run {
				m.Blank = say.Text(blankNote)
			}
			line.Cells = append(line.Cells, c)
		}
		m.Rows = append(m.Rows, line)
	}
	columns := chosen(rows, func(f result.Figure) bool { return f.InMarkdown })
	for _, c := range columns {
		m.Figures.Columns = append(m.Figures.Columns, figureColumn{say.Term(c.ShortName()), c.IsText()})
	}
	m.Figures.Legend = legendOf(say, columns, rows)
	for _, r := range byScenario(rows) {
		var line []string
		for _, c := range columns {
			line = append(line, shown(say, c, r))
		}
		m.Figures.Rows = append(m.Figures.Rows, line)
	}
	return m
}

// cellOf shows a row by what it means for a user.
func cellOf(say *lang.Lang, r result.Row, counted result.Figure) cell {
	c := cell{Run: true, ID: rowID(r), Status: statusOf(say, r.Verdict), Why: why(say, r.Verdict)}
	level, unsure := open, false // whether it is safe
	columns := answerColumns([]result.Row{r})
	if nobodyServed(r) {
		c.Lines, level = []cellLine{{Name: say.Text("nobody served"), Value: say.Sprintf("%s still waited", count(int64(stillWaited(r)))), Meaning: harm}}, harm
	}
	for _, f := range columns {
		if f.Violation != "" && f.Violation != counted.Violation {
			continue
		}
		line := cellLine{Name: say.Term(f.Answer), Meaning: meaningOf(f, r)}
		v, _ := f.Of(r)
		if line.Value = told(say, f, v); f.Field == result.OutageField {
			line.Value = longestOutage(say, r).atLeast(say, line.Value)
		}
		if f.Violation != "" && v == 0 && line.Meaning == open {
			line.Value, unsure = say.Text("none seen"), true
		}
		level = max(level, line.Meaning)
		c.Lines = append(c.Lines, line)
		if d := r.Duplicates; f.Violation == "duplicate" && d != nil {
			for _, part := range []struct {
				name string
				n    int64
			}{{say.Text("in warm-up"), d.Warmup}, {say.Text("unreachable"), d.Unreachable}} {
				if part.n > 0 {
					c.Lines = append(c.Lines, cellLine{Name: part.name, Value: count(part.n), Part: true})
				}
			}
		}
		if n := untouched(f, r); n > 0 {
			c.Lines = append(c.Lines, cellLine{Name: say.Text("no fault touched"), Value: count(int64(n)), Part: true})
		}
		if v == 0 && f.Violation != "" && unsafeOtherwise(r, f) {
			c.Lines = append(c.Lines, cellLine{Name: say.Term(result.Unsafe), Value: strings.Join(otherViolations(say, f, r), ", "), Part: true})
		}
		if f.Answer != "" && f.As == result.Share && failedUntouched(r) > 0 {
			c.Lines = append(c.Lines, cellLine{Name: say.Text("that no fault touched"), Value: percent(failedUntouched(r)), Part: true})
		}
		if f.Field != result.OutageField {
			continue
		}
		if o := longestOutage(say, r); o.zone != "" {
			c.Lines = append(c.Lines, cellLine{Name: say.Text("in zone"), Value: plain(o.zone), Part: true})
		} else if o.resource != "" {
			c.Lines = append(c.Lines, cellLine{Name: say.Text("of resource"), Value: plain(o.resource), Part: true})
		}
		if o := longestOutage(say, r); o.early(say) != "" {
			c.Lines = append(c.Lines, cellLine{Name: say.Text("before the fault"), Value: span(say, o.before), Part: true})
		}
	}
	if r.Verdict.Undecided() || unsure && level == good {
		level = open
	}
	c.Meaning, c.Class = level, level.Class()
	return c
}

func entriesOf(say *lang.Lang, rows []result.Row) []ledgerEntry {
	var all []ledgerEntry
	for _, r := range byScenario(rows) {
		for _, f := range r.Faults {
			all = append(all, ledgerEntry{
				Lock: plain(r.Lock), Scenario: plain(r.Scenario), Workload: plain(r.Workload),
				Kind: plain(f.Kind), Target: plain(orAbsent(say.Tell(history.TargetText(f.Target)))), Name: plain(say.Tell(history.FaultText(f.Kind, f.Target))),
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
