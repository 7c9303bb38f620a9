// Package page writes the report of a run as self-contained pages: index.html, the grid with its plots and
// evidence, and glossary.html, each in every language.
//
//	result.File ──view──▶ tables ─┐
//	histories ──series──▶ plots ──┴─▶ page
package page

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/internal/atomicfile"
	"locklab/internal/sentence"
	"locklab/reports/lang"
	"locklab/reports/plots"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/check/record"
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
	File         = "index.html"
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

// Write writes the pages of a run into a directory; from is that of its result. A cell whose history cannot be
// read gets a note.
func Write(ctx context.Context, dir, from string, f result.File, open Open) error {
	cells, err := load(ctx, &f, open)
	if err != nil {
		return err
	}
	for _, say := range lang.All() {
		for name, make := range map[string]func() ([]byte, error){
			File:         func() ([]byte, error) { return fill(say, "page.html", File, reportOf(say, from, f, cells)) },
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
	*view.View
	Title, Started  string
	From            string    // the directory of the result
	Served, Latency []section // over time, of each workload
	Costs           []table.Table
	Tradeoffs       []tradeoff
	Evidence        []evidence
	Several         bool // workloads
}

func reportOf(say *lang.Lang, from string, f result.File, cells []cell) *report {
	v := view.Of(say, f, view.Options{Page: File, Link: func(k result.Key) string { return "#" + idOf(k) }})
	r := &report{View: v, Title: v.Head, From: from, Several: len(v.Grids) > 1}
	if !f.Run.Started.IsZero() {
		r.Started = f.Run.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	inks := inksOf(cells)
	for _, workload := range v.Workloads() {
		own := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.Workload != workload })
		r.overTime(say, own, inks)
		r.Costs = append(r.Costs, v.Cost(workload),
			v.Latencies(say.Text("Requests: p50 · p99"), workload, "request"),
			v.Latencies(say.Text("Acquisitions: p50 · p99"), workload, "acquire"))
		if t := tradeoffOf(say, v, own, inks); t.SVG != "" {
			r.Tradeoffs = append(r.Tradeoffs, t)
		}
	}
	for i := range cells {
		r.Evidence = append(r.Evidence, evidenceOf(say, v, &cells[i]))
	}
	return r
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

// HTML returns the page, which is to be called [File].
func (s *Sheet) HTML(say *lang.Lang) ([]byte, error) { return fill(say, "sheet.html", File, s) }

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
		"verdict": func(r *result.Row) string { return view.Verdict(say, r) },
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
func inksOf(cells []cell) map[string]plots.Ink {
	inks := map[string]plots.Ink{"none": plots.LockInk(0)}
	for i := range cells {
		if lock := cells[i].Lock; inks[lock] == "" {
			inks[lock] = plots.LockInk(1 + (len(inks)-1)%11)
		}
	}
	return inks
}
