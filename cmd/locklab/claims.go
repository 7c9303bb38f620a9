package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
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
		return err
	}
	if len(f.Run.Claims) == 0 {
		return fmt.Errorf("%s decides no claims: want the directory of a suite that has some, such as seeds", dir)
	}
	if err := ofItsSuite(f); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return between(page, claimsBegin, claimsEnd, func(w io.Writer) error {
		return table.Markdown(w, view.Of(say, f, view.Options{}).Claims())
	})
}

// ofItsSuite sees that a result has decided what its suite claims now, by the rows that it
// names now.
func ofItsSuite(f result.File) error {
	flags := runFlags{}
	flags.register(pflag.NewFlagSet("run", pflag.ContinueOnError))
	if err := flags.set.Parse(f.Run.Args); err != nil {
		return fmt.Errorf("the flags of then: %w", err)
	}
	s, err := suite.Load(flags.suite)
	if err != nil {
		return fmt.Errorf("its suite: %w", err)
	}
	then, now := claimed(f.Run.Claims), claimed(suite.Decide(s.Claims, f))
	if then != now {
		return fmt.Errorf("it has decided other claims, or by other rows, than the suite %s has now: want a run of the "+
			"suite as it is", flags.suite)
	}
	return nil
}

// claimed is what claims ask, without what decided them.
func claimed(claims []result.Claim) (text string) {
	for _, c := range claims {
		text += fmt.Sprintln(c.Claim, c.Source)
		for _, e := range c.Evidence {
			text += fmt.Sprintln(e.Lock, e.Scenario, e.Workload, e.Wanted)
		}
	}
	return text
}

// between replaces the text between two lines of a page.
func between(page, begin, end string, write func(io.Writer) error) error {
	text, err := os.ReadFile(page) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s: want a line %q and below it a line %q, between which the table is written",
			page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	var made strings.Builder
	if err := write(&made); err != nil {
		return err
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+made.String()+"\n"+end+after),
		0o644) //nolint:gosec // meant to be read by others
}
