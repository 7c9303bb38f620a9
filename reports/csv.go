package reports

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"locklab/reports/result"
)

// csvOf writes one line for each row of each run: units in the names, figures in full
// precision, empty where there is none.
func csvOf(files []result.File) ([]byte, error) {
	figures := slices.DeleteFunc(result.Figures(), func(f result.Figure) bool { return f.Column == "" })
	header := []string{"run", "seed"}
	for _, f := range figures {
		header = append(header, f.Column)
	}
	lines := [][]string{header}
	for _, file := range files {
		for _, r := range file.Results {
			line := []string{harmless(file.Run.ID), strconv.FormatUint(file.Run.Seed, 10)}
			for _, f := range figures {
				line = append(line, harmless(f.Raw(r)))
			}
			lines = append(lines, line)
		}
	}
	var out bytes.Buffer
	err := csv.NewWriter(&out).WriteAll(lines)
	return out.Bytes(), err
}

// harmless keeps spreadsheets from running a name as a formula. No figure begins so:
// none is below 0.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
