package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/internal/must"
	"locklab/internal/testfile"
)

// TestKoreanReadmeIsInStep compares README.ko.md with README.md: the same commands in the
// same order, the same number of headings, and links to the same places, to their Korean
// where there is one.
func TestKoreanReadmeIsInStep(t *testing.T) {
	parts := func(name string) map[string][]string {
		text := string(testfile.Read(t, filepath.Join("..", "..", name)))
		found := map[string][]string{}
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(block[1]) {
				command, _, _ := strings.Cut(line, " #")
				found["commands"] = append(found["commands"], strings.TrimSpace(command))
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			if link[1] != "README.md" && link[1] != "README.ko.md" {
				found["links"] = append(found["links"], strings.Replace(link[1], ".ko.", ".", 1))
			}
		}
		slices.Sort(found["links"]) // the order of words differs
		found["headings"] = regexp.MustCompile(`(?m)^#+ `).FindAllString(text, -1)
		return found
	}
	english, korean := parts("README.md"), parts("README.ko.md")
	if len(english["commands"]) == 0 {
		t.Fatal("README.md has no commands")
	}
	if d := cmp.Diff(english, korean); d != "" {
		t.Errorf("README.ko.md is not in step with README.md:\n%s", d)
	}
}

// TestWeaknessesAreShown: the tests that locks/README.md names are there.
func TestWeaknessesAreShown(t *testing.T) {
	root := filepath.Join("..", "..")
	data := testfile.Read(t, filepath.Join(root, "locks", "README.md"))
	missing := map[string]bool{}
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(data), -1) {
		missing[name[1]] = true
	}
	if len(missing) == 0 {
		t.Fatal("locks/README.md names no tests")
	}
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			delete(missing, f[1])
		}
		return err
	})
	if err != nil || len(missing) > 0 {
		t.Errorf("locks/README.md names tests that are not there: %v %v", missing, err)
	}
}

// TestRegressionsAreTested: each row of REGRESSIONS.md names a test that exists.
func TestRegressionsAreTested(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| .* \\| .* \\| `(.*)\\.(Test\\w+)` \\|$").FindAllStringSubmatch(string(testfile.Read(t, "REGRESSIONS.md")), -1)
	if len(rows) < 50 {
		t.Fatalf("read %d rows", len(rows))
	}
	for _, row := range rows {
		files, err := filepath.Glob(filepath.Join("..", "..", row[1], "*_test.go"))
		must.Do(t, err)
		if !slices.ContainsFunc(files, func(file string) bool {
			return strings.Contains(string(testfile.Read(t, file)), "\nfunc "+row[2]+"(t *testing.T)")
		}) {
			t.Errorf("there is no test %s in %s: %s", row[2], row[1], row[0])
		}
	}
}

// TestTheMapLeadsThere: all paths of ARCHITECTURE.md's "Where is ..." are there.
func TestTheMapLeadsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	_, text, _ := strings.Cut(string(testfile.Read(t, filepath.Join(root, "ARCHITECTURE.md"))), "\n## Where is")
	text, _, _ = strings.Cut(text, "\n## ")
	paths := regexp.MustCompile("`([a-z]+/[^`]+)`").FindAllStringSubmatch(text, -1)
	if len(paths) < 10 {
		t.Fatalf("read %d paths", len(paths))
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(root, path[1])); err != nil {
			t.Error(err)
		}
	}
}
