package compare

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/atomicfile"
	"locklab/internal/strictjson"
	"locklab/reports/compare/stats"
	"locklab/reports/lang"
	"locklab/reports/page"
	"locklab/reports/table"
	"locklab/workloads/result"
)

// Table has one line for each lock, scenario and figure: those that differ, or all of them.
func Table(say *lang.Lang, names []string, ds []Difference, all bool) table.Table {
	t := table.Table{Columns: table.Heads("="+say.Text("lock"), "="+say.Text("scenario"), "="+say.Text("figure"),
		names[0]+">", names[len(names)-1]+">", say.Text("change")+">", "")}
	several := len(names) > 2
	workloads := map[string]bool{}
	for i := range ds {
		workloads[ds[i].Workload] = true
	}
	if several {
		t.Columns[3].Title, t.Columns[4].Title = say.Text("before"), say.Text("after")
	}
	for i := range ds {
		d := &ds[i]
		outcome := d.Outcome()
		if !all && outcome == SideBySide {
			continue
		}
		lock, scenario := d.Lock, d.Scenario
		if several {
			lock = names[d.Run] + ": " + lock
		}
		if len(workloads) > 1 {
			scenario += ", " + d.Workload
		}
		t.Rows = append(t.Rows, table.Row(table.Plain(lock), table.Plain(scenario), d.Figure.Name,
			d.Before.text(d.Figure), d.After.text(d.Figure), change(say, d), say.Term(string(outcome))))
	}
	return t
}

// text is the median, with its interval if there are repeats.
func (s Sample) text(f result.Figure) string {
	text := table.Figure(f, s.Median)
	if s.N > 1 {
		text += " (" + table.Figure(f, s.Low) + " to " + table.Figure(f, s.High) + ")"
	}
	return text
}

// change is by how much a figure changed; "" without repeats.
func change(say *lang.Lang, d *Difference) string {
	by := d.After.Median - d.Before.Median
	switch {
	case d.Outcome() == SideBySide:
		return ""
	case d.Figure.As == result.Share:
		return say.Sprintf("%s points", fmt.Sprintf("%+.1f", 100*by))
	case d.Before.Median == 0:
		return say.Text("from 0")
	}
	return fmt.Sprintf("%+.0f%%", 100*by/math.Abs(d.Before.Median))
}

// Said is the outcome of a comparison, in lines.
func Said(say *lang.Lang, files []result.File, names []string, ds []Difference) (lines []string) {
	differ := 0
	for i := range ds {
		if ds[i].Outcome() != SideBySide {
			differ++
		}
	}
	switch tests, repeats := Tests(ds); {
	case tests == 0:
		lines = append(lines, say.Text("No difference is claimed without repeats of both (--repeat)."))
	case differ == 0 && repeats < stats.Fewest(tests):
		lines = append(lines, say.Sprintf("No difference is claimed: %d repeats show nothing among %d tests, %d may.",
			repeats, tests, stats.Fewest(tests)))
	default:
		lines = append(lines, say.Sprintf("%d of %d figures differ (Mann-Whitney with Holm, 95 %%).", differ, tests))
	}
	for i := 1; i < len(files); i++ {
		for _, m := range Mismatches(files[0].Run, files[i].Run) {
			text := say.Sprintf("%s: %s was %s, is %s", names[i], m.Name, m.Was, m.Is)
			if m.Refuses {
				text += say.Text("; so nothing is claimed")
			}
			lines = append(lines, table.Plain(text))
		}
	}
	return lines
}

// The files of a comparison, in English; of other languages the tag comes before the ending.
const (
	PageFile     = "index.html"
	MarkdownFile = "report.md"
	CSVFile      = "results.csv"
	JSONFile     = "comparison.json"
)

// Schema is that of [JSONFile].
const Schema = "locklab/comparison/v2"

// File is the outcome of a comparison, for lists of reports and for scripts.
type File struct {
	Schema      string              `json:"schema"`
	Runs        []string            `json:"runs"` // the others are compared with the first
	Outcome     Outcome             `json:"outcome"`
	Said        map[string][]string `json:"said"`        // by language
	Differences []Claimed           `json:"differences"` // those that are claimed
}

// Claimed is a difference that is claimed.
type Claimed struct {
	Run string `json:"run"`
	result.Key
	Figure  string  `json:"figure"`
	Before  Sample  `json:"before"`
	After   Sample  `json:"after"`
	Chance  float64 `json:"chance"`
	Outcome Outcome `json:"outcome"`
}

// Write writes the page, the Markdown, the CSV and the JSON of a comparison of runs into a
// directory.
func Write(dir string, files []result.File, names []string) error {
	ds := Runs(files)
	f := File{Schema: Schema, Runs: names, Said: map[string][]string{}, Differences: []Claimed{}}
	for i := range ds {
		if o := ds[i].Outcome(); o != SideBySide {
			d := &ds[i]
			f.Differences = append(f.Differences,
				Claimed{names[d.Run], d.Key, d.Figure.Name, d.Before, d.After, d.Chance, o})
			if f.Outcome == SideBySide || o == Worse || o == Better && f.Outcome == Other {
				f.Outcome = o
			}
		}
	}
	for _, say := range lang.All() {
		said := Said(say, files, names, ds)
		f.Said[say.Tag] = said
		shown, all := Table(say, names, ds, false), Table(say, names, ds, true)
		title := say.Sprintf("%s against %s", strings.Join(names[1:], ", "), names[0])
		sheet := page.Sheet{
			Title: title, Lede: strings.Join(said, " "),
			Sections: []page.Section{{Title: say.Text("side by side"), Table: all}},
		}
		if len(shown.Rows) > 0 {
			sheet.Sections = slices.Insert(sheet.Sections, 0, page.Section{Title: say.Text("differences"), Table: shown})
		}
		html, err := sheet.HTML(say, PageFile)
		if err != nil {
			return err
		}
		var md bytes.Buffer
		fmt.Fprintf(&md, "# %s\n\n- %s\n\n", table.Escape(title), strings.Join(said, "\n- "))
		for _, s := range sheet.Sections {
			fmt.Fprintf(&md, "## %s\n\n", s.Title)
			if err := table.Markdown(&md, s.Table); err != nil {
				return err
			}
			md.WriteString("\n")
		}
		for name, data := range map[string][]byte{PageFile: html, MarkdownFile: md.Bytes()} {
			if err := atomicfile.Write(filepath.Join(dir, page.FileIn(say, name)), data); err != nil {
				return err
			}
		}
	}
	var csv bytes.Buffer
	if err := table.CSV(&csv, Table(lang.English(), names, ds, true)); err != nil {
		return err
	}
	data, err := json.Marshal(f, jsontext.WithIndent("  "), json.Deterministic(true))
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, JSONFile), append(data, '\n')); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, CSVFile), csv.Bytes())
}

// Read reads the outcome of a comparison from its directory; false if there is none of this version.
func Read(dir string) (f File, is bool) {
	path := filepath.Join(dir, JSONFile)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > 4<<20 {
		return File{}, false
	}
	data, err := os.ReadFile(path)
	if err != nil || strictjson.DecodeOpen(data, &f) != nil || f.Schema != Schema || len(f.Runs) < 2 {
		return File{}, false
	}
	return f, true
}

// Names tells runs apart: by their ids, or by their directories if two are alike.
func Names(files []result.File, dirs []string) (names []string) {
	for i, f := range files {
		name := table.Plain(f.Run.ID)
		if name == "" || slices.Contains(names, name) {
			name = table.Plain(filepath.Base(filepath.Clean(dirs[i])))
		}
		if slices.Contains(names, name) {
			name = fmt.Sprintf("%s (%d)", name, i+1)
		}
		names = append(names, name)
	}
	return names
}
