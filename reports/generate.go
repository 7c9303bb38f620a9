package reports

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"locklab/reports/internal/atomicfile"
	"locklab/reports/result"
)

// The files that Generate writes.
const (
	PageFile     = "index.html"
	MarkdownFile = "report.md"
	CSVFile      = "results.csv"
)

// ErrNoRuns says that Generate was called without a directory.
var ErrNoRuns = errors.New("reports: no run directory given")

// Generate writes index.html, report.md and results.csv into out. With one
// directory they are the report of that run, with evidence.html beside them, and an empty out means the directory
// itself. With several they compare the runs; out must then be given and is
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
	files := make([]result.File, len(runs))
	for i := range runs {
		files[i] = runs[i].File
	}
	table, err := csvOf(files)
	if err != nil {
		return fmt.Errorf("write %s: %w", CSVFile, err)
	}
	var page, text, proof []byte
	var textErr, proofErr error
	if len(runs) == 1 {
		p := pageOf(runs[0])
		page, err = html("page.html", p)
		text, textErr = markdown("report.md", p)
		proof, proofErr = html("evidence.html", evidenceOf(runs[0]))
	} else {
		c := compare(runs)
		page, err = html("comparison.html", c)
		text, textErr = markdown("comparison.md", c)
	}
	if err := errors.Join(err, textErr, proofErr); err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return fmt.Errorf("create the report's directory: %w", err)
	}
	for _, f := range []struct {
		name string
		data []byte
	}{{PageFile, page}, {MarkdownFile, text}, {CSVFile, table}, {EvidenceFile, proof}} {
		if f.data == nil { // runs side by side have no evidence of their own
			continue
		}
		if err := atomicfile.Write(filepath.Join(out, f.name), f.data); err != nil {
			return err
		}
	}
	return nil
}
