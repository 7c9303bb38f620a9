package reports

import (
	"encoding/csv"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/reports/result"
)

// TestColumnsAreExplained: README.md has every column of results.csv, and no other.
func TestColumnsAreExplained(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(readme), "\n## results.csv\n")
	section, _, ends := strings.Cut(section, "\n## ")
	if !found || !ends {
		t.Fatal("README.md has no section on results.csv")
	}
	var explained []string
	for _, line := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line[1], -1) {
			before, rest, several := strings.Cut(name[1], "{")
			endings, after, _ := strings.Cut(rest, "}")
			if !several {
				explained = append(explained, before)
				continue
			}
			for ending := range strings.SplitSeq(endings, ",") {
				explained = append(explained, before+ending+after)
			}
		}
	}
	table, err := csvOf([]result.File{{}})
	if err != nil {
		t.Fatal(err)
	}
	header, err := csv.NewReader(strings.NewReader(string(table))).Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range header {
		if !slices.Contains(explained, column) {
			t.Errorf("README.md does not explain %s", column)
		}
	}
	for i, column := range explained {
		if !slices.Contains(header, column) || slices.Contains(explained[:i], column) {
			t.Errorf("README.md explains %s, which is no column, or there twice", column)
		}
	}
}

// TestNoneInTheWarmUpIsNone: a row that counts duplicates has them in the warm-up too, as 0
// where there were none, on every page and in the file.
func TestNoneInTheWarmUpIsNone(t *testing.T) {
	figures := result.Figures()
	warm := figures[slices.IndexFunc(figures, func(f result.Figure) bool { return f.Field == "duplicates.warmup" })]
	for want, row := range map[string]result.Row{"0": {Duplicates: &result.Duplicates{Total: 1, Raced: 1}}, "2": {Duplicates: &result.Duplicates{Warmup: 2}}, "": {}} {
		if have := warm.Raw(row); have != want {
			t.Errorf("results.csv: %q, want %q", have, want)
		}
	}
}
