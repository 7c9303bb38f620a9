package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/suite"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// recorded is the directory of the run that the READMEs' tables are of.
var recorded = filepath.Join("..", "..", "reports", "seeds")

// TestReadmesHaveTheTable that the command writes, of the recorded run.
func TestReadmesHaveTheTable(t *testing.T) {
	for page, tag := range map[string]string{"README.md": lang.EnglishTag, "README.ko.md": "ko"} {
		say, err := language(tag)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join("..", "..", page))
		if err != nil {
			t.Fatal(err)
		}
		again := filepath.Join(t.TempDir(), page)
		if err := os.WriteFile(again, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := writeClaims(say, recorded, again); err != nil {
			t.Fatal(err)
		}
		written, err := os.ReadFile(again)
		if err != nil {
			t.Fatal(err)
		}
		if string(written) != string(text) {
			t.Errorf("%s has another table than `locklab report reports/seeds --claims %s --lang %s` writes", page, page, tag)
		}
	}
}

// TestTheRecordedRunIsOfTheSuite: it has decided what the suite claims now.
func TestTheRecordedRunIsOfTheSuite(t *testing.T) {
	f, err := result.Read(filepath.Join(recorded, result.FileName))
	if err != nil {
		t.Fatal(err)
	}
	s, err := suite.Load("seeds")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Run.Claims) != len(s.Claims) {
		t.Fatalf("%d claims, of %d: want make claims", len(f.Run.Claims), len(s.Claims))
	}
	for i, c := range s.Claims {
		if got := f.Run.Claims[i]; got.Claim != c.Claim || got.Source != c.Source || len(got.Evidence) != len(c.Cells) {
			t.Errorf("%q is not decided by the rows that the suite names: want make claims", c.Claim)
		}
	}
}

func TestClaimsNeedAPlace(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("# A page\n"+claimsBegin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeClaims(lang.English(), recorded, page); err == nil || !strings.Contains(err.Error(), "want a line \"<!-- claims:") {
		t.Errorf("a page without an end: %v", err)
	}
	sample := filepath.Join("..", "..", "reports", "sample")
	if err := writeClaims(lang.English(), sample, page); err == nil || !strings.Contains(err.Error(), "decides no claims") {
		t.Errorf("a run without claims: %v", err)
	}
}

// TestMatrixIsOfAll: it names every lock and every variant.
func TestMatrixIsOfAll(t *testing.T) {
	s, err := suite.Load("matrix")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range s.Parts {
		var has []string
		for _, f := range part.Flags {
			if f.Name != "locks" {
				continue
			}
			all, err := catalog.ParseList("locks", []string{f.Value})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range all {
				has = append(has, l.Spec.Name+":"+l.Spec.Variant)
			}
		}
		for _, want := range catalog.WithVariants() {
			if !slices.Contains(has, want) {
				t.Errorf("line %d: %s is missing", part.Line, want)
			}
		}
	}
}
