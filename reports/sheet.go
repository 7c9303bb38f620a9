package reports

import (
	"html/template"
	"os"
	"path/filepath"

	"locklab/internal/atomicfile"
	"locklab/reports/lang"
)

// Sheet is a page of its own, beside the reports of runs: what an exploration or a sweep
// of simulations found.
type Sheet struct {
	Title, Lede string
	Verdict     SheetVerdict
	Facts       []SheetFact
	Sections    []SheetSection
	Made        string // the command that made it
}

// SheetVerdict is what was found. Good decides its colour and shape; what is undecided is
// neither good nor bad.
type SheetVerdict struct {
	Text      string
	Good, Bad bool
}

// SheetFact is a line about how it was found, or several.
type SheetFact struct {
	Name  string
	Lines []string
}

// SheetSection is a drawing and the same as a table, either of which may be missing. The
// drawing is an SVG of ours and says in words what it shows.
type SheetSection struct {
	Title   string
	Notes   []string
	Drawing template.HTML
	Columns []SheetColumn
	Rows    [][]string // the first cell is the row's header
}

// SheetColumn is a column of a section's table.
type SheetColumn struct {
	Title  string
	Number bool
}

type sheetPage struct {
	Sheet
	inlined
}

// Status is the verdict of the page as the pages of runs show theirs.
func (p *sheetPage) Status() status {
	v := p.Verdict
	switch {
	case v.Text == "":
		return status{}
	case v.Good:
		return status{Shape: "✓", Word: v.Text, Class: "ok"}
	case v.Bad:
		return status{Shape: "✗", Word: v.Text, Class: "bad"}
	}
	return status{Shape: "?", Word: v.Text, Class: "warn"}
}

// WriteSheet writes the page to path and creates its directory if needed. The texts of the
// sheet are in the language already.
func WriteSheet(path string, say *lang.Lang, s Sheet) error {
	page, err := html(say, "sheet.html", "", &sheetPage{Sheet: s})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return err
	}
	return atomicfile.Write(path, page)
}
