package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

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
	return between(page, claimsBegin, claimsEnd, func(w io.Writer) error {
		return table.Markdown(w, view.Of(say, f, view.Options{}).Claims())
	})
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
