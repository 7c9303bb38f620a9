package levels

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"time"

	"locklab/locks/adapters"
	"locklab/reports/table"
)

// Page is the table with what stands behind it: result.json of the published levels.
type Page struct {
	Since    string   `json:"since"` // the days of the first run and of the last
	Date     string   `json:"date"`
	Commits  []string `json:"commits"`  // of the runs
	Machines []string `json:"machines"` // likewise
	Servers  []string `json:"servers,omitzero"`
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

// Check refuses what is not the page of a table.
func (p Page) Check() error {
	if len(p.Rows) == 0 {
		return errors.New("no rows: want what locklab levels has published")
	}
	for _, row := range append(slices.Clone(p.Rows), Row{Lock: "controls", Cells: p.Controls}) {
		for i, c := range row.Cells {
			if i >= len(Anomalies()) || c.Letter != Anomalies()[i].Letter || c.Runs < 0 || c.Tries < 0 || c.Shown > c.Runs {
				return fmt.Errorf("cell %d of %s: want the columns in their order, and no more shown than run", i+1, row.Lock)
			}
		}
	}
	return nil
}

// Add adds runs to some rows and the columns of some letters; the other results are of controls. Cells with other
// settings begin anew.
func (p Page) Add(all []Result, rows []string, letters string) Page {
	for _, r := range all {
		for _, file := range r.Files {
			if file.Run.Started.IsZero() {
				continue
			}
			day, host := file.Run.Started.Format(time.DateOnly), file.Run.Host
			p.Since, p.Date = min(cmp.Or(p.Since, day), day), max(p.Date, day)
			p.Commits = append(p.Commits, file.Run.Commit)
			p.Machines = append(p.Machines, fmt.Sprintf("%d CPUs (%s)", host.CPUs, host.CPUModel))
			for name, version := range file.Run.Versions {
				if !strings.Contains(name, "/") && version != file.Run.Versions["locklab"] { // nor a Go module
					p.Servers = append(p.Servers, version)
				}
			}
		}
	}
	for _, list := range []*[]string{&p.Commits, &p.Machines, &p.Servers} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	anomalies, promises := Anomalies(), adapters.Promises()
	fill := func(cells []Cell) []Cell {
		for _, a := range anomalies[len(cells):] {
			cells = append(cells, Cell{Letter: a.Letter, Glyph: "?", Why: "it was not run"})
		}
		return cells
	}
	p.Controls = fill(p.Controls)
	for i := range p.Rows {
		p.Rows[i].Cells = fill(p.Rows[i].Cells) // with columns that are new
	}
	for _, r := range all {
		version, asked := promises[r.Lock].Version(), slices.Contains(rows, r.Lock)
		at := slices.IndexFunc(p.Rows, func(row Row) bool { return row.Lock == r.Lock })
		if asked && at < 0 {
			at, p.Rows = len(p.Rows), append(p.Rows, Row{Lock: r.Lock, Cells: fill(nil)})
		}
		if asked && p.Rows[at].Version != version && r.tells() { // of the other cells nothing is known
			p.Rows[at] = Row{Lock: r.Lock, Version: version, Cells: fill(nil)}
		}
		for i, a := range anomalies {
			if !strings.Contains(letters, a.Letter) {
				continue
			}
			if asked {
				p.Rows[at].Cells[i] = a.cell(r, version, p.Rows[at].Cells[i])
			}
			if a.Control == r.Lock {
				a.Runs = a.Runs[:1]
				p.Controls[i] = a.cell(r, version, p.Controls[i])
			}
		}
	}
	for i, a := range anomalies {
		for _, row := range p.Rows {
			a.judge(&row.Cells[i], p.Controls[i], promises[row.Lock])
		}
		a.judge(&p.Controls[i], p.Controls[i], promises[a.Control])
	}
	for i := range p.Rows {
		p.Rows[i].Level = Level(p.Rows[i].Cells)
	}
	slices.SortStableFunc(p.Rows, func(a, b Row) int {
		return slices.Index(Rows(), a.Lock) - slices.Index(Rows(), b.Lock)
	})
	return p
}

// Lack is how many of so many tries the cells of these letters lack that the run of a lock serves: those of its row, or
// of the controls that it is. The runs of a column have equal shares. One that has decided nothing so far is tried
// once.
func (p Page) Lack(of Result, run, letters string, row bool, tries int) (lack int) {
	cells := p.Controls
	if row {
		cells = nil
		if at := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Lock == of.Lock }); at >= 0 {
			cells = p.Rows[at].Cells
		}
	}
	for i, a := range Anomalies() {
		if !row {
			a.Runs = a.Runs[:1]
		}
		share := slices.DeleteFunc(slices.Clone(a.Runs), func(name string) bool {
			_, applies := of.Does[name]
			return !applies
		})
		if !strings.Contains(letters, a.Letter) || !slices.Contains(share, run) || !row && a.Control != of.Lock {
			continue
		}
		runs, more := len(share), 0
		switch {
		case i >= len(cells) || cells[i].Settings != a.settings(of, adapters.Promises()[of.Lock].Version()):
			more = (tries + runs - 1) / runs
		case cells[i].Runs > 0:
			unknown := cells[i].Tries
			for _, n := range cells[i].By {
				unknown -= n.Tries
			}
			more = (tries+runs-1)/runs - cells[i].By[run].Tries - unknown/runs
		}
		lack = max(lack, more)
		if i < len(cells) && cells[i].Glyph != "·" && !slices.Contains(cells[i].Decided, run) {
			lack = max(lack, 1)
		}
	}
	return lack
}

// Tries are those of all cells.
func (p Page) Tries() (n int) {
	for _, row := range p.Rows {
		for _, c := range row.Cells {
			n += c.Tries
		}
	}
	return n
}

// Glyphs are the table of the columns with these letters. Those that were shown lead to a history.
func (p Page) Glyphs(letters string) table.Table {
	titles := []string{"=lock"}
	for _, a := range Anomalies() {
		if strings.Contains(letters, a.Letter) {
			titles = append(titles, a.Letter)
		}
	}
	all := letters == Letters() // else no row has earned its names
	if all {
		titles = append(titles, "level")
	}
	t := table.Table{Columns: table.Heads(titles...)}
	for _, r := range p.Rows {
		row := table.Row(r.Lock)
		for _, c := range r.Cells {
			if strings.Contains(letters, c.Letter) {
				row = append(row, table.Cell{Text: c.Glyph, Link: c.History})
			}
		}
		if all {
			row = append(row, table.Row(r.Level)...)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Picture is the table as an SVG, with the names above the columns.
func (p Page) Picture() string {
	const lock, cell, line, above, level = 190, 40, 20, 160, 330
	width, height := lock+cell*len(Anomalies())+level, above+line*len(p.Rows)+50
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<style>.s{fill:#f6c4bc}.n{fill:#cfe8cf}.q{fill:#f5e6a8}.d{fill:#eee}.m{text-anchor:middle}</style>
<rect width="100%%" height="100%%" fill="#fff"/>
`, width, height)
	text := func(x, y int, rest, say string) {
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\"%s>%s</text>\n", x, y, rest, html.EscapeString(say))
	}
	for i, a := range Anomalies() {
		x, y := lock+cell*i+cell/2, above-28
		text(x, above-8, ` class="m" font-weight="bold"`, a.Letter)
		text(x, y, fmt.Sprintf(` transform="rotate(-50 %d %d)"`, x, y), a.Name)
	}
	for i, r := range p.Rows {
		y := above + line*i
		text(4, y+14, "", r.Lock)
		for k, c := range r.Cells {
			glyph, rest, _ := strings.Cut(c.Glyph, " ")
			class := map[string]string{"✗": "s", "✓": "n", "?": "q"}[glyph]
			x := lock + cell*k
			fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n",
				cmp.Or(class, "d"), x, y, cell-1, line-1)
			style := ` class="m"`
			if often, _, _ := strings.Cut(rest, " "); strings.Contains(often, "/") {
				glyph, style = glyph+often, style+` font-size="9"`
			}
			if strings.HasSuffix(rest, "!") {
				glyph += "!"
			}
			text(x+cell/2, y+14, style, glyph)
		}
		text(lock+cell*len(r.Cells)+8, y+14, "", r.Level)
	}
	text(4, height-20, "", "✗ shown   ✗! against its documentation   ✓ not shown where the control showed it: no proof   "+
		"· does not apply, or cannot be done here   ? undecided   1/4 in one of four runs")
	return b.String() + "</svg>\n"
}

// Columns are the anomalies of these letters, with their controls.
func (p Page) Columns(letters string) table.Table {
	t := table.Table{Columns: table.Heads("=", "anomaly", "shown when", "seen in", "scenarios", "control", "fired")}
	for i, a := range Anomalies() {
		if !strings.Contains(letters, a.Letter) {
			continue
		}
		c := p.Controls[i]
		t.Rows = append(t.Rows, table.Row(a.Letter, a.Name, a.Shown, cmp.Or(strings.Join(a.Figures, ", "), "the verdict"),
			strings.Join(a.scenarios(), ", "), a.Control, fmt.Sprintf("%d of %d", c.Shown, c.Runs)))
	}
	return t
}

// Broken lists the promises of the documentation that a shown anomaly breaks.
func (p Page) Broken() table.Table {
	t := table.Table{Columns: table.Heads("=lock", "=", "what its documentation promises")}
	for _, r := range p.Rows {
		letters := map[string]string{} // by the promise
		var promises []string
		for _, c := range r.Cells {
			if c.Promise != "" && letters[c.Promise] == "" {
				promises = append(promises, c.Promise)
			}
			letters[c.Promise] += c.Letter
		}
		for _, promise := range promises {
			t.Rows = append(t.Rows, table.Row(r.Lock, letters[promise], promise))
		}
	}
	return t
}

// Without lists why cells say nothing, and of which locks.
func (p Page) Without() table.Table {
	type reason struct{ letters, why string }
	var reasons []reason
	has := map[reason][]string{} // the locks
	for _, r := range p.Rows {
		letters := map[string]string{} // by why
		for _, c := range r.Cells {
			if c.Glyph == "·" || c.Glyph == "?" {
				letters[c.Glyph+" "+c.Why] += c.Letter
			}
		}
		for why, of := range letters {
			one := reason{of, why}
			if has[one] == nil {
				reasons = append(reasons, one)
			}
			has[one] = append(has[one], r.Lock)
		}
	}
	slices.SortFunc(reasons, func(a, b reason) int {
		return cmp.Or(cmp.Compare(a.letters, b.letters), -cmp.Compare(len(has[a]), len(has[b])), cmp.Compare(a.why, b.why))
	})
	t := table.Table{Columns: table.Heads("=", "why it says nothing", "=locks")}
	for _, one := range reasons {
		locks := has[one]
		of := strings.Join(locks, ", ")
		if len(locks) > len(p.Rows)/2 {
			var others []string
			for _, r := range p.Rows {
				if !slices.Contains(locks, r.Lock) {
					others = append(others, r.Lock)
				}
			}
			of = strings.TrimSuffix("all rows except "+strings.Join(others, ", "), " except ")
		}
		t.Rows = append(t.Rows, table.Row(one.letters, one.why, of))
	}
	return t
}

// Versions are those of libraries, by their rows.
func (p Page) Versions() table.Table {
	t := table.Table{Columns: table.Heads("=lock", "library", "what it is")}
	for _, r := range p.Rows {
		if a, is := adapters.Find(r.Lock); is || r.Version != "" {
			t.Rows = append(t.Rows, table.Row(r.Lock, r.Version, cmp.Or(a.Summary, "as the lab's lock uses it")))
		}
	}
	return t
}

// Markdown is all of it.
func (p Page) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured from %s until %s with %s; [result.json](result.json) has the commits.\n",
		p.Since, p.Date, strings.Join(slices.Concat(p.Machines, p.Servers), ", "))
	for _, part := range []struct {
		title string
		table table.Table
	}{
		{"\n## Columns\n\n", p.Columns(Letters())},
		{"\n## Rows\n\n", p.Glyphs(Letters())},
		{"\n## Broken promises\n\n", p.Broken()},
		{"\n## Libraries\n\n", p.Versions()},
		{"\n## Cells that say nothing\n\n", p.Without()},
	} {
		b.WriteString(part.title)
		_ = table.Markdown(&b, part.table) // a builder takes everything
	}
	return b.String()
}
