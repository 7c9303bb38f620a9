package page

import (
	"html/template"
	"os"
	"path/filepath"

	"locklab/internal/atomicfile"
	"locklab/reports/lang"
	"locklab/reports/table"
)

// Sheet is a page of drawings and tables beside the reports of runs: an exploration, a sweep of
// simulations, a comparison, the list of reports. Its texts are in the language already.
type Sheet struct {
	Title, Lede string
	Verdict     table.Cell // its mark decides the colour
	Facts       []Fact
	Sections    []Section
	Made        string // the command that made it
}

// Fact is a line about how it was found, or several.
type Fact struct {
	Name  string
	Lines []string
}

// Section is a drawing and the same as a table, either of which may be missing. The drawing is an
// SVG of ours, with a label in words.
type Section struct {
	Title   string
	Notes   []string
	Drawing template.HTML
	Table   table.Table
}

// HTML is the page. File is its name in English, by which it links to itself in other languages;
// "" has none.
func (s *Sheet) HTML(say *lang.Lang, file string) ([]byte, error) {
	return fill(say, "sheet.html", file, s)
}

// WriteSheet writes the page to path, in English, and creates its directory if needed.
func WriteSheet(path string, s Sheet) error {
	data, err := s.HTML(lang.English(), "")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return err
	}
	return atomicfile.Write(path, data)
}
