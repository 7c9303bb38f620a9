package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"locklab/cmd/locklab/internal/suite"
	"locklab/reports/lang"
	"locklab/reports/table"
	"locklab/reports/view"
	"locklab/workloads/result"
)

// The lines between which a page has the table of claims.
const (
	claimsBegin = "<!-- claims: made by locklab report --claims -->\n"
	claimsEnd   = "<!-- end of claims -->\n"
)

// writeClaims puts what the result in a directory makes of its suite's claims into a page of
// Markdown, between the lines that are there for it.
func writeClaims(say *lang.Lang, dir, page string) error {
	f, err := result.Read(filepath.Join(dir, result.FileName))
	if err != nil {
		return fmt.Errorf("--claims: %w", err)
	}
	if len(f.Run.Claims) == 0 {
		return fmt.Errorf("--claims: %s decides no claims: want the directory of a suite that has some, such as seeds", dir)
	}
	if err := ofItsSuite(f); err != nil {
		return fmt.Errorf("--claims: %s: %w", dir, err)
	}
	text, err := os.ReadFile(page) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("--claims: %w", err)
	}
	var claims strings.Builder
	if err := table.Markdown(&claims, view.Of(say, f, view.Options{}).Claims()); err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), claimsBegin)
	_, after, ends := strings.Cut(rest, claimsEnd)
	if !begins || !ends {
		return fmt.Errorf("--claims %s: want a line %q and below it a line %q, between which the table is written", page, strings.TrimSpace(claimsBegin), strings.TrimSpace(claimsEnd))
	}
	return os.WriteFile(page, []byte(before+claimsBegin+"\n"+claims.String()+"\n"+claimsEnd+after), 0o644) //nolint:gosec // meant to be read by others
}

// ofItsSuite sees that a result has decided what its suite claims now, by the rows that it
// names now.
func ofItsSuite(f result.File) error {
	flags := runFlags{args: f.Run.Args}
	flags.register(pflag.NewFlagSet("run", pflag.ContinueOnError))
	if err := flags.set.Parse(f.Run.Args); err != nil {
		return fmt.Errorf("the flags of then: %w", err)
	}
	s, err := suite.Load(flags.suite)
	if err != nil {
		return fmt.Errorf("its suite: %w", err)
	}
	now := suite.Decide(s.Claims, f)
	if len(now) != len(f.Run.Claims) {
		return fmt.Errorf("it decides %d claims and the suite %s has %d: want a run of the suite as it is now", len(f.Run.Claims), flags.suite, len(now))
	}
	for i, c := range now {
		then := f.Run.Claims[i]
		same := then.Claim == c.Claim && then.Source == c.Source && slices.EqualFunc(then.Evidence, c.Evidence, func(a, b result.Evidence) bool {
			return a.Lock == b.Lock && a.Scenario == b.Scenario && a.Workload == b.Workload && slices.Equal(a.Wanted, b.Wanted)
		})
		if !same {
			return fmt.Errorf("%q is not decided by the rows that the suite %s names: want a run of the suite as it is now", c.Claim, flags.suite)
		}
	}
	return nil
}
