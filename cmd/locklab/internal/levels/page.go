package levels

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"locklab/locks/adapters"
	"locklab/reports/table"
)

// Page is the table with what stands behind it: result.json of the published levels.
type Page struct {
	Date     string   `json:"date"`
	Commits  []string `json:"commits"` // of the runs
	CPU      string   `json:"cpu,omitzero"`
	CPUs     int      `json:"cpus"`
	Rows     []Row    `json:"rows"`
	Controls []Cell   `json:"controls"` // in the order of the anomalies
}

// Row is a lock with its cells.
type Row struct {
	Lock    string `json:"lock"`
	Version string `json:"version,omitzero"` // of the library
	Level   string `json:"level"`
	Cells   []Cell `json:"cells"`
}

// Of is the page of some rows; the other results are of controls.
func Of(all []Result, rows []string) (p Page) {
	for _, r := range all {
		for _, file := range r.Files {
			if day := file.Run.Started.Format(time.DateOnly); !file.Run.Started.IsZero() && day > p.Date {
				p.Date, p.CPU, p.CPUs = day, file.Run.Host.CPUModel, file.Run.Host.CPUs
			}
			if c := file.Run.Commit; c != "" && !slices.Contains(p.Commits, c) {
				p.Commits = append(p.Commits, c)
			}
		}
	}
	slices.Sort(p.Commits)
	promises := adapters.Promises()
	p.Controls = make([]Cell, len(Anomalies()))
	for _, r := range all {
		cells := Cells(r, all)
		for i, a := range Anomalies() {
			c := &cells[i]
			if c.Shown > 0 {
				c.Again = r.Again[c.Run]
				if c.Promise = promises[r.Lock].Of(c.Letter); c.Promise != "" {
					c.Glyph += " !"
				}
			}
			if a.Control == r.Lock {
				p.Controls[i] = *c
			}
		}
		if slices.Contains(rows, r.Lock) {
			p.Rows = append(p.Rows, Row{r.Lock, promises[r.Lock].Version(), Level(cells), cells})
		}
	}
	return p
}

// Glyphs are the table.
func (p Page) Glyphs() table.Table {
	titles := []string{"=lock"}
	for _, a := range Anomalies() {
		titles = append(titles, a.Letter)
	}
	t := table.Table{Columns: table.Heads(append(titles, "level")...)}
	for _, r := range p.Rows {
		row := table.Row(r.Lock)
		for _, c := range r.Cells {
			row = append(row, table.Row(c.Glyph)...)
		}
		t.Rows = append(t.Rows, append(row, table.Row(r.Level)...))
	}
	return t
}

// Columns are the anomalies with their controls.
func (p Page) Columns() table.Table {
	t := table.Table{Columns: table.Heads("=", "anomaly", "shown when", "control", "fired")}
	for i, a := range Anomalies() {
		c := p.Controls[i]
		t.Rows = append(t.Rows, table.Row(a.Letter, a.Name, a.Shown, a.Control, fmt.Sprintf("%d of %d", c.Shown, c.Runs)))
	}
	return t
}

// Shown is what was shown, with the command that tries it again.
func (p Page) Shown() table.Table {
	t := table.Table{Columns: table.Heads("=lock", "=", "runs", "command", "history", "what its documentation promises")}
	for _, r := range p.Rows {
		for _, c := range r.Cells {
			if c.Shown == 0 {
				continue
			}
			row := table.Row(r.Lock, c.Letter, fmt.Sprintf("%d of %d", c.Shown, c.Runs), c.Again, "", c.Promise)
			if c.History != "" {
				row[4] = table.Cell{Text: "history", Link: c.History}
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// Without are the reasons of cells that say nothing.
func (p Page) Without() table.Table {
	t := table.Table{Columns: table.Heads("=lock", "=", "why it says nothing")}
	for _, r := range p.Rows {
		letters := map[string]string{}
		for _, c := range r.Cells {
			if c.Glyph == "·" || c.Glyph == "?" {
				letters[c.Glyph+" "+c.Why] += c.Letter
			}
		}
		for _, c := range r.Cells {
			for why, which := range letters {
				if strings.HasPrefix(which, c.Letter) {
					t.Rows = append(t.Rows, table.Row(r.Lock, which, why))
				}
			}
		}
	}
	return t
}

// Versions are those of libraries, by their rows.
func (p Page) Versions() table.Table {
	t := table.Table{Columns: table.Heads("=lock", "library", "what it is")}
	for _, r := range p.Rows {
		if a, is := adapters.Find(r.Lock); is {
			t.Rows = append(t.Rows, table.Row(r.Lock, r.Version, a.Summary))
		}
	}
	return t
}

// Markdown writes all of it.
func (p Page) Markdown(w io.Writer) (err error) {
	_, err = fmt.Fprintf(w, "Measured until %s with %s on %d CPUs (%s).\n", p.Date,
		strings.Join(p.Commits, ", "), p.CPUs, p.CPU)
	for _, part := range []struct {
		title string
		table table.Table
	}{
		{"", p.Glyphs()},
		{"Columns", p.Columns()},
		{"Shown", p.Shown()},
		{"Libraries", p.Versions()},
		{"Cells that say nothing", p.Without()},
	} {
		if err == nil && part.title != "" {
			_, err = fmt.Fprintf(w, "\n## %s\n", part.title)
		}
		if err == nil {
			_, err = io.WriteString(w, "\n")
		}
		if err == nil {
			err = table.Markdown(w, part.table)
		}
	}
	return err
}
