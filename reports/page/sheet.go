package page

import (
	"locklab/reports/lang"
	"locklab/reports/table"
)

// Sheet is a page of tables beside the reports of runs: a comparison, the list of reports. Its texts are
// in the language already.
type Sheet struct {
	Title, Lede string
	Sections    []Section
}

// Section is a table with notes before it, either of which may be missing.
type Section struct {
	Title string
	Notes []string
	Table table.Table
}

// HTML is the page. File is its name in English, by which it links to itself in other languages;
// "" has none.
func (s *Sheet) HTML(say *lang.Lang, file string) ([]byte, error) {
	return fill(say, "sheet.html", file, s)
}
