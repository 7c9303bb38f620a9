package scenario_test

import (
	"slices"
	"strings"
	"testing"

	"locklab/chaos/scenario"
	"locklab/locks"
)

func TestBuiltinScenariosAreRight(t *testing.T) {
	all, err := scenario.List()
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range all {
		if s.Name != scenario.Names()[n] || s.Summary == "" || len(s.Locks) == 0 {
			t.Errorf("file %s.yaml calls itself %q, or has no summary, or expects nothing", scenario.Names()[n], s.Name)
		}
	}
	if len(all) == 0 || len(all[0].Timeline) > 0 {
		t.Error("the first one breaks something")
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

// TestSlowDisksMayStopALock: one that waits for a disk before it answers may be down while that is slow,
// be it its servers' or the masters' own.
func TestSlowDisksMayStopALock(t *testing.T) {
	for name, slowed := range map[string][]string{
		"slow-disk":       {"raft", "etcd", "zookeeper", "postgres", "redlock:persistence=always"},
		"slow-disk-peers": {"multiphase:quorum"},
	} {
		s, err := scenario.Load(name, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range slowed {
			lock, err := locks.ParseSpec(text)
			if err != nil {
				t.Fatal(err)
			}
			if e, known := s.Expect(lock, "seoul-2az"); !known || !slices.Contains(e.Liveness, "down") {
				t.Errorf("%s under %s is expected to be %v, which leaves out down", text, name, e.Liveness)
			}
		}
	}
}

// TestDetectionSplits: a peer-to-peer lock that goes on without whoever is gone is expected to
// do what multiphase does, which does so, and not what the same lock does without that.
func TestDetectionSplits(t *testing.T) {
	all, err := scenario.List()
	if err != nil {
		t.Fatal(err)
	}
	expect := func(s scenario.Scenario, text string) (safety string, liveness []string) {
		spec, err := locks.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := s.Expect(spec, "seoul-3az")
		return e.Safety, e.Liveness
	}
	splits := 0
	for _, s := range all {
		safety, liveness := expect(s, "multiphase")
		if safety == "unsafe" {
			splits++
		}
		for _, text := range []string{"lamport:detect=on", "ricart-agrawala:detect=on"} {
			if has, fares := expect(s, text); has != safety || !slices.Equal(fares, liveness) {
				t.Errorf("%s: %s is expected to be %q, %v, and multiphase %q, %v", s.Name, text, has, fares, safety, liveness)
			}
		}
	}
	if splits == 0 {
		t.Error("no scenario splits multiphase")
	}
}
