package scenario_test

import (
	"strings"
	"testing"

	"locklab/chaos/scenario"
)

func TestBuiltinScenariosAreRight(t *testing.T) {
	for n, name := range scenario.Names() {
		s, err := scenario.Load(name, "")
		if err != nil || s.Name != name || s.Summary == "" {
			t.Errorf("file %s.yaml calls itself %q, or has no summary: %v", name, s.Name, err)
		}
		if n == 0 && len(s.Timeline) > 0 {
			t.Error("the first one breaks something")
		}
	}
}

// TestTitles: those of the built-in scenarios differ, and break into two lines of nine columns.
func TestTitles(t *testing.T) {
	fits := func(title string) bool {
		width := func(s string) (n int) {
			for _, r := range s {
				n += 1 + min(1, int(r)/0x1100) // Hangul has two columns
			}
			return n
		}
		for i, r := range title + " " {
			if r == ' ' && width(title[:i]) <= 9 && width(strings.TrimSpace(title[i:])) <= 9 {
				return true
			}
		}
		return false
	}
	seen := map[string]string{}
	for _, name := range scenario.Names() {
		s, err := scenario.Load(name, "a")
		if err != nil {
			t.Fatal(err)
		}
		for _, title := range []string{s.Title, s.TitleKO} {
			if other, twice := seen[title]; twice || !fits(title) {
				t.Errorf("%s: the title %q is that of %q, or does not fit", name, title, other)
			}
			seen[title] = name
		}
	}
	if s, err := scenario.Parse("mine.yaml", []byte("{name: mine, timeline: []}"), "a"); err != nil || s.Title != "mine" || s.TitleKO != "mine" {
		t.Errorf("without a title: %q, %q, %v", s.Title, s.TitleKO, err)
	}
}
