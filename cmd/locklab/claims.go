package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"locklab/reports"
	"locklab/reports/lang"
	"locklab/reports/result"
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
	text, err := os.ReadFile(page) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("--claims: %w", err)
	}
	table, err := reports.ClaimsTable(say, f)
	if err != nil {
		return err
	}
	before, rest, begins := strings.Cut(string(text), claimsBegin)
	_, after, ends := strings.Cut(rest, claimsEnd)
	if !begins || !ends {
		return fmt.Errorf("--claims %s: want a line %q and below it a line %q, between which the table is written", page, strings.TrimSpace(claimsBegin), strings.TrimSpace(claimsEnd))
	}
	return os.WriteFile(page, []byte(before+claimsBegin+"\n"+table+"\n"+claimsEnd+after), 0o644) //nolint:gosec // meant to be read by others
}
