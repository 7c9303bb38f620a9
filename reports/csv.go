package reports

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"locklab/reports/result"
)

// csvOf writes one line for each row of each run: flat columns, units in the
// names, figures in full precision, empty where there is none.
func csvOf(files []result.File) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	cols := columns()
	header := []string{"run", "seed"}
	for _, c := range cols {
		header = append(header, c.Name)
	}
	if err := w.Write(header); err != nil {
		return nil, err
	}
	for _, f := range files {
		for _, r := range f.Results {
			record := []string{harmless(f.Run.ID), strconv.FormatUint(f.Run.Seed, 10)}
			for _, c := range cols {
				cell := c.Raw(r)
				if c.Text {
					cell = harmless(cell)
				}
				record = append(record, cell)
			}
			if err := w.Write(record); err != nil {
				return nil, err
			}
		}
	}
	w.Flush()
	return out.Bytes(), w.Error()
}

// harmless keeps spreadsheets from running a name as a formula.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
