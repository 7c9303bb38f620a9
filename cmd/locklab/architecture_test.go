package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"locklab/internal/testfile"
)

// TestTheMapLeadsThere: in ARCHITECTURE.md's "Where is ..." every file and directory is there,
// and what else a row names is declared in one of its files.
func TestTheMapLeadsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	_, text, found := strings.Cut(string(testfile.Read(t, filepath.Join(root, "ARCHITECTURE.md"))), "\n## Where is")
	text, _, ended := strings.Cut(text, "\n## ")
	if !found || !ended {
		t.Fatal(`ARCHITECTURE.md has no "Where is ..."`)
	}
	rows := 0
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 4 || strings.Contains(line, "---") || strings.TrimSpace(cells[1]) == "what" {
			continue
		}
		rows++
		for _, missing := range missingIn(t, root, cells[2]) {
			t.Errorf("%s: there is no %s where it says", strings.TrimSpace(cells[1]), missing)
		}
	}
	if rows < 10 {
		t.Errorf("read %d rows of the table", rows)
	}
}

// missingIn names what the words of a row do not lead to: a path from the root or beside
// another one of the row, or something that is declared in one of its files.
func missingIn(t *testing.T, root, row string) (missing []string) {
	t.Helper()
	var words, files []string
	dirs := []string{root}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
		words = append(words, m[1])
		switch info, err := os.Stat(filepath.Join(root, m[1])); {
		case err != nil:
		case info.IsDir():
			dirs = append(dirs, filepath.Join(root, m[1]))
		default:
			files = append(files, string(testfile.Read(t, filepath.Join(root, m[1]))))
			dirs = append(dirs, filepath.Dir(filepath.Join(root, m[1])))
		}
	}
	for _, word := range words {
		there := false
		for _, dir := range dirs {
			_, err := os.Stat(filepath.Join(dir, word))
			there = there || err == nil
		}
		declared := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?` + regexp.QuoteMeta(word) + `\(|\s+` + regexp.QuoteMeta(word) + `:$)`)
		for _, file := range files {
			there = there || declared.MatchString(file)
		}
		if !there {
			missing = append(missing, word)
		}
	}
	return missing
}
