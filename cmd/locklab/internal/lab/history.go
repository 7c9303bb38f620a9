package lab

import (
	"context"
	"path/filepath"

	"locklab/reports/live"
	"locklab/reports/page"
	"locklab/workloads/check/record"
	"locklab/workloads/check/safety"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// Open reads the histories of the report in a directory, for its page.
func Open(dir string) page.Open {
	return func(ctx context.Context, row *result.Row) (page.History, error) {
		run, err := record.Read(ctx, filepath.Join(dir, filepath.FromSlash(row.History)))
		if err != nil {
			return page.History{}, err
		}
		return page.History{Run: run, ViolationsMS: safety.Judge(run).TimesMS}, nil
	}
}
