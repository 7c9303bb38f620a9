package lab

import (
	"context"
	"path/filepath"

	"locklab/reports/page"
	"locklab/workloads/check/record"
	"locklab/workloads/check/safety"
	"locklab/workloads/result"
)

// Open reads the histories of the report in a directory, for its page.
func Open(dir string) page.Open {
	return func(ctx context.Context, row *result.Row) (page.History, error) {
		run, err := record.Read(ctx, filepath.Join(dir, filepath.FromSlash(row.History)))
		if err != nil {
			return page.History{}, err
		}
		h := page.History{Run: run}
		for _, v := range safety.All(run) {
			if !v.Excused {
				h.ViolationsMS = append(h.ViolationsMS, v.AtMS)
			}
		}
		return h, nil
	}
}
