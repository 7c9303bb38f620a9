package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKoreanReadmeIsInStep compares README.ko.md with README.md: the same commands in the
// same order, the same number of headings, and links to the same places, to their Korean
// where there is one.
func TestKoreanReadmeIsInStep(t *testing.T) {
	parts := func(name string) map[string][]string {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		found := map[string][]string{}
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(block[1]) {
				command, _, _ := strings.Cut(line, " #")
				found["commands"] = append(found["commands"], strings.TrimSpace(command))
			}
		}
		for _, link := range regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			if link[1] != "README.md" && link[1] != "README.ko.md" {
				found["links"] = append(found["links"], strings.Replace(link[1], ".ko.md", ".md", 1))
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
