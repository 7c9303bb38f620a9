package reports

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"locklab/internal/atomicfile"
	"locklab/reports/lang"
	"locklab/reports/result"
)

// The files that Generate writes.
const (
	PageFile     = "index.html"
	MarkdownFile = "report.md"
	CSVFile      = "results.csv"
	// ComparisonFile is of a comparison of several runs only.
	ComparisonFile = "comparison.json"
)

// ErrNoRuns says that Generate was called without a directory.
var ErrNoRuns = errors.New("reports: no run directory given")

// Generate writes index.html and report.md in every language, the others with its tag before
// the ending, and results.csv into out. With one directory they are the report of that run,
// with evidence.html beside them, and an empty out means the directory itself. With several they
// compare the runs, and comparison.json has what it came to; out must then be given and is
// created if needed.
//
// Histories are read for the plots of one run; those that are missing or broken leave a
// note in the report. A result.json that is missing or broken is an error that names file
// and field.
func Generate(ctx context.Context, dirs []string, out string, read Reader) error {
	if len(dirs) == 0 {
		return ErrNoRuns
	}
	if out == "" {
		if len(dirs) > 1 {
			return errors.New("reports: comparing several runs needs a directory to write to")
		}
		out = dirs[0]
	}
	if len(dirs) > 1 {
		read = nil // nothing is drawn
	}
	runs := make([]loaded, len(dirs))
	for i, dir := range dirs {
		l, err := load(ctx, dir, read)
		if err != nil {
			return err
		}
		runs[i] = l
	}
	results := make([]result.File, len(runs))
	for i := range runs {
		results[i] = runs[i].File
	}
	table, err := csvOf(results)
	if err != nil {
		return fmt.Errorf("write %s: %w", CSVFile, err)
	}
	languages, err := lang.All()
	if err != nil {
		return err
	}
	files := []written{{CSVFile, table}}
	var came cameTo
	for _, say := range languages {
		drawn, err := draw(say, runs, out, &came)
		if err != nil {
			return fmt.Errorf("draw the report: %w", err)
		}
		files = append(files, drawn...)
	}
	if len(runs) > 1 {
		data, err := came.encode()
		if err != nil {
			return fmt.Errorf("write %s: %w", ComparisonFile, err)
		}
		files = append(files, written{ComparisonFile, data})
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return fmt.Errorf("create the report's directory: %w", err)
	}
	for _, f := range files {
		if err := atomicfile.Write(filepath.Join(out, f.name), f.data); err != nil {
			return err
		}
	}
	return nil
}

// written is a file of a report.
type written struct {
	name string
	data []byte
}

// draw makes the files of a report in a language, for the directory out. Runs side by side have
// no evidence of their own, but lead to that in their directories; what they came to is noted.
func draw(say *lang.Lang, runs []loaded, out string, came *cameTo) ([]written, error) {
	page, text := FileIn(say, PageFile), FileIn(say, MarkdownFile)
	if len(runs) > 1 {
		c := compare(say, runs, proofsOf(say, runs, out))
		came.note(say, c)
		drawn, err := html(say, "comparison.html", PageFile, c)
		md, mdErr := markdown(say, "comparison.md", MarkdownFile, c)
		return []written{{page, drawn}, {text, md}}, errors.Join(err, mdErr)
	}
	p := pageOf(say, runs[0])
	drawn, err := html(say, "page.html", PageFile, p)
	md, mdErr := markdown(say, "report.md", MarkdownFile, p)
	proof, proofErr := html(say, "evidence.html", EvidenceFile, evidenceOf(say, runs[0]))
	return []written{{page, drawn}, {text, md}, {FileIn(say, EvidenceFile), proof}}, errors.Join(err, mdErr, proofErr)
}

// proofsOf are the addresses of the runs' pages of evidence in a language, as seen from a page
// in out; "" of a run that has none. They are relative, so that directories which move together
// keep them.
func proofsOf(say *lang.Lang, runs []loaded, out string) []string {
	proofs := make([]string, len(runs))
	from, err := filepath.Abs(out)
	if err != nil {
		return proofs
	}
	for i, l := range runs {
		page, err := filepath.Abs(filepath.Join(l.Dir, FileIn(say, EvidenceFile)))
		if err != nil {
			continue
		}
		if _, err := os.Stat(page); err != nil {
			continue
		}
		if way, err := filepath.Rel(from, page); err == nil {
			proofs[i] = (&url.URL{Path: filepath.ToSlash(way)}).String()
		}
	}
	return proofs
}
