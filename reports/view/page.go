package view

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/internal/atomicfile"
	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/series"
	"locklab/reports/table"
	"locklab/reports/why"
	"locklab/workloads/check/record"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

//go:embed assets/*.html
var assets embed.FS

// Style is the style sheet of the pages, with the colours of the light and the dark scheme.
//
//go:embed assets/page.css
var Style string

//go:embed assets/page.js
var script string

// The names of the pages in English.
const (
	PageFile     = "index.html"
	glossaryFile = "glossary.html"
)

// History is a record, with the times of all its violations, in milliseconds since the measured part began: a row
// has only the first ones.
type History struct {
	*record.Run
	ViolationsMS []float64
}

// Open reads the history of a row.
type Open func(ctx context.Context, row *result.Row) (History, error)

// FileIn is the name of a page in a language: index.html, index.ko.html.
func FileIn(say *lang.Lang, name string) string {
	if say.Tag == lang.EnglishTag {
		return name
	}
	ending := path.Ext(name)
	return strings.TrimSuffix(name, ending) + "." + say.Tag + ending
}

// WritePages writes the pages of a run into a directory; from is that of its result. A cell whose history cannot be
// read gets a note.
func WritePages(ctx context.Context, dir, from string, f result.File, open Open) error {
	cells, err := load(ctx, &f, open)
	if err != nil {
		return err
	}
	for _, say := range lang.All() {
		for name, make := range map[string]func() ([]byte, error){
			PageFile:     func() ([]byte, error) { return fill(say, "page.html", PageFile, reportOf(say, from, f, cells)) },
			glossaryFile: func() ([]byte, error) { return fill(say, "glossary.html", glossaryFile, result.Figures()) },
		} {
			data, err := make()
			if err != nil {
				return err
			}
			if err := atomicfile.Write(filepath.Join(dir, FileIn(say, name)), data); err != nil {
				return err
			}
		}
	}
	return nil
}

// report is the data of the template of a run's page.
type report struct {
	*View
	Title, Started  string
	From            string    // the directory of the result
	Served, Latency []section // over time, of each workload
	Costs           []table.Table
	Tradeoffs       []tradeoff
	Evidence        []evidence
	Several         bool // workloads
}

func reportOf(say *lang.Lang, from string, f result.File, cells []drawn) *report {
	v := Of(say, f, Options{Page: PageFile, Link: func(k result.Key) string { return "#" + idOf(k) }})
	r := &report{View: v, Title: v.Head, From: from, Several: len(v.Grids) > 1}
	if !f.Run.Started.IsZero() {
		r.Started = f.Run.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	inks := inksOf(cells)
	for _, workload := range v.workloads() {
		own := slices.DeleteFunc(slices.Clone(cells), func(c drawn) bool { return c.Workload != workload })
		r.overTime(say, own, inks)
		r.Costs = append(r.Costs, v.cost(workload),
			v.latencies(say.Text("Requests: p50 · p99"), workload, "request"),
			v.latencies(say.Text("Acquisitions: p50 · p99"), workload, "acquire"))
		if t := tradeoffOf(say, v, own, inks); t.SVG != "" {
			r.Tradeoffs = append(r.Tradeoffs, t)
		}
	}
	for i := range cells {
		r.Evidence = append(r.Evidence, evidenceOf(say, v, &cells[i]))
	}
	return r
}

// section is a group of plots, one for each scenario.
type section struct {
	Title, Note string
	Locks       []legendEntry
	Figures     []figure
}

type legendEntry struct{ Name, Ink string }

type figure struct {
	Scenario, Note string
	SVG            template.HTML
}

// overTime draws the rate and the latency of the cells of one workload.
func (r *report) overTime(say *lang.Lang, cells []drawn, inks map[string]plots.Ink) {
	var lines []plots.Line
	var legend []legendEntry
	byScenario := map[string][]plots.Line{}
	for i := range cells {
		c := &cells[i]
		if len(c.Bins) == 0 {
			continue
		}
		line := plots.Line{Name: table.Plain(c.Lock), Ink: inks[c.Lock], Offered: c.offered, Series: c.Series}
		lines, byScenario[c.Scenario] = append(lines, line), append(byScenario[c.Scenario], line)
		if entry := (legendEntry{line.Name, string(line.Ink)}); !slices.Contains(legend, entry) {
			legend = append(legend, entry)
		}
	}
	if len(lines) == 0 {
		return
	}
	scale, workload := plots.ScaleOf(lines), cells[0].Workload
	add := func(to *[]section, title, note string, draw func(*lang.Lang, string, []plots.Line, plots.Scale) []byte) {
		if workload != history.Matchmaking {
			title += ": " + table.Plain(workload)
		}
		s := section{Title: title, Note: note, Locks: legend}
		for _, scenario := range r.scenarios(workload) {
			if found := byScenario[scenario]; len(found) > 0 {
				drawing := draw(say, table.Plain(r.title(scenario)), found, scale)
				svg := template.HTML(drawing) //nolint:gosec // drawn and escaped by plots
				s.Figures = append(s.Figures, figure{r.title(scenario), faultNote(say, found), svg})
			}
		}
		*to = append(*to, s)
	}
	add(&r.Served, say.Text("Served over time"), say.Text("Per second, one strip for each lock. Dotted: the load. "+
		"On top: failed. Marks below: violations. Shaded: the fault."), plots.Rate)
	add(&r.Latency, say.Text("Latency over time"),
		say.Text("Milliseconds. Solid: p99. Dotted: p50. Only what ended well."), plots.Latency)
}

// faultNote names the faults of a plot.
func faultNote(say *lang.Lang, lines []plots.Line) string {
	var names []string
	repeats := 0
	for _, l := range lines {
		repeats = max(repeats, l.Series.Repeats)
		for _, w := range l.Series.Faults {
			name := table.Plain(w.Kind)
			if !w.Proven {
				name = say.Sprintf("%s: not proven", name)
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if repeats > 1 {
		names = append(names, say.Sprintf("mean of %d repeats", repeats))
	}
	return strings.Join(names, ", ")
}

// tradeoff is the plot of violations against failed requests.
type tradeoff struct {
	SVG   template.HTML
	Clean []string // locks and scenarios without either, which have no mark
}

// tradeoffOf returns no plot if nothing went wrong.
func tradeoffOf(say *lang.Lang, v *View, cells []drawn, inks map[string]plots.Ink) (t tradeoff) {
	p99 := "acquire_p99_ms"
	if is, _ := history.WorkloadOf(cells[0].Workload); is.Players {
		p99 = "request_p99_ms"
	}
	locks := v.locks(cells[0].Workload)
	var points []plots.Point
	for i := range cells {
		c := &cells[i]
		served, known := c.Median("served")
		if !known {
			continue
		}
		worst := c.Worst()
		p := plots.Point{
			Lock: table.Plain(c.Lock), Scenario: table.Plain(v.title(c.Scenario)), Href: "#" + idOf(c.Key),
			Ink: inks[c.Lock], Mark: slices.Index(locks, c.Lock), X: (1 - served) * 100,
		}
		p.P99MS, _ = c.Median(p99)
		switch safety := worst.Verdict.Safety; {
		case worst.Decided() && safety.State == result.Failed:
			p.Y = safety.N
		case !worst.Decided() || safety.State == result.Unknown:
			p.Unsure = true
		case p.X == 0:
			t.Clean = append(t.Clean, p.Lock+" ("+p.Scenario+")")
			continue
		}
		p.Words = say.Sprintf("%s, %s: violations %s, served %s, p99 %s", p.Lock, p.Scenario, table.Count(p.Y),
			table.Share(served), table.Duration(p.P99MS))
		points = append(points, p)
	}
	if len(points) > 0 {
		t.SVG = template.HTML(plots.Tradeoff(say, points)) //nolint:gosec // drawn and escaped by plots
	}
	return t
}

// drawn is one combination, with the series of its histories.
type drawn struct {
	result.Cell
	series.Series
	offered []plots.Offered
	why     map[string]string // the worst row explained, by language; nil if nothing went wrong
	missing error             // a history could not be read
}

// load reads the histories, at most four at once: each is in memory as a whole.
func load(ctx context.Context, f *result.File, open Open) ([]drawn, error) {
	all := f.Cells()
	cells := make([]drawn, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, min(runtime.GOMAXPROCS(0), 4)))
	for i := range all {
		group.Go(func() error {
			c := &cells[i]
			c.Cell = all[i]
			worst := c.Worst()
			duration := 0.0
			for _, row := range c.Rows {
				duration = max(duration, row.MeasuredMS)
			}
			ops := series.NewCollector(duration)
			for _, row := range c.Rows {
				if row.History == "" {
					c.missing = fs.ErrNotExist // none was recorded
					continue
				}
				h, err := open(ctx, row)
				switch {
				case ctx.Err() != nil:
					return ctx.Err()
				case err != nil:
					c.missing = err
					continue
				}
				ops.AddRun(h.Run, h.ViolationsMS)
				if row == worst {
					c.why = explained(h, row)
				}
				c.offered = plots.Offer(nil, 0, h.Head.OfferedPS)
				for _, r := range h.Rates {
					c.offered = plots.Offer(c.offered, h.MS(r.AtNS), float64(r.Count))
				}
			}
			if s := ops.Series(); s.Repeats > 0 {
				c.Series = s
				c.Faults = windowsOf(c.Rows[0].Faults, duration)
			}
			return nil
		})
	}
	return cells, group.Wait()
}

// explained is what `locklab why` says of the row; nil if nothing went wrong.
func explained(h History, row *result.Row) map[string]string {
	if violation, outage := row.Subject(); row.Decided() && violation == nil && outage == nil {
		return nil
	}
	texts := map[string]string{}
	for _, say := range lang.All() {
		var out strings.Builder
		_ = why.Write(&out, say, row, h.Run, why.Options{}) // a builder takes everything
		texts[say.Tag] = out.String()
	}
	return texts
}

// windowsOf returns the times of the faults, sorted by their beginning. An unknown beginning is that of the
// request, an unknown end that of the run.
func windowsOf(faults []result.Fault, endMS float64) (all []series.Window) {
	for _, f := range faults {
		w := series.Window{Kind: f.Kind, FromMS: f.BeganMS, ToMS: f.EndedMS, Proven: f.Proven}
		if w.FromMS == result.Never {
			w.FromMS = f.AskedMS
		}
		if w.ToMS == result.Never {
			w.ToMS = endMS
		}
		if w.ToMS > w.FromMS {
			all = append(all, w)
		}
	}
	slices.SortStableFunc(all, func(a, b series.Window) int { return cmp.Compare(a.FromMS, b.FromMS) })
	return all
}

// evidence is the part of the page to which a cell links.
type evidence struct {
	*drawn
	ID, Title, Note, Why string // Title is the scenario's
}

func evidenceOf(say *lang.Lang, v *View, c *drawn) evidence {
	e := evidence{drawn: c, ID: idOf(c.Key), Title: v.title(c.Scenario), Why: c.why[say.Tag]}
	if errors.Is(c.missing, fs.ErrNotExist) {
		e.Note = say.Text("a history is missing")
	} else if c.missing != nil {
		e.Note = say.Sprintf("a history cannot be read: %s", c.missing.Error())
	}
	return e
}

// Sheet is a page of tables outside the report of a run: a comparison, the list of reports. Its texts are
// translated already.
type Sheet struct {
	Title, Lede string
	Sections    []Section
}

// Section is a table with a title.
type Section struct {
	Title string
	Table table.Table
}

// HTML returns the page, which is to be called [PageFile].
func (s *Sheet) HTML(say *lang.Lang) ([]byte, error) { return fill(say, "sheet.html", PageFile, s) }

// fill fills the template of a page.
func fill(say *lang.Lang, name, file string, data any) ([]byte, error) {
	type other struct{ Href, Tag, Name string }
	var others []other
	for _, l := range lang.All() {
		if l.Tag != say.Tag {
			others = append(others, other{FileIn(l, file), l.Tag, l.Name})
		}
	}
	t, err := template.New(name).Funcs(template.FuncMap{
		"t": say.Text, "tf": say.Sprintf, "plain": table.Plain, "count": sentence.Group, "table": table.HTML,
		"lang":    func() string { return say.Tag },
		"verdict": func(r *result.Row) string { return why.Verdict(say, r) },
		"file":    func(name string) string { return FileIn(say, name) },
		"others":  func() []other { return others },
		"style":   func() template.CSS { return template.CSS(Style) }, //nolint:gosec // our own file
		"script":  func() template.JS { return template.JS(script) },  //nolint:gosec // our own file
	}).ParseFS(assets, "assets/parts.html", "assets/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.Bytes(), err
}

// idOf is the anchor of a cell's evidence on the page.
func idOf(k result.Key) string {
	safe := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}
	return strings.Map(safe, k.Workload+"."+k.Lock+"."+k.Scenario)
}

// inksOf gives every lock its colour, the same in all plots of the page; the lock none has the neutral one.
func inksOf(cells []drawn) map[string]plots.Ink {
	inks := map[string]plots.Ink{"none": plots.LockInk(0)}
	for i := range cells {
		if lock := cells[i].Lock; inks[lock] == "" {
			inks[lock] = plots.LockInk(1 + (len(inks)-1)%11)
		}
	}
	return inks
}
