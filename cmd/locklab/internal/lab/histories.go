package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/internal/filelock"
	"locklab/reports/page"
	"locklab/workloads/check/record"
	"locklab/workloads/check/safety"
	"locklab/workloads/result"
)

// Complete adds to the result of a comparison that was killed what its histories say of
// the runs that had no time to get there. A comparison that has ended, or that goes on,
// is left as it is.
func Complete(ctx context.Context, dir string) error {
	path := filepath.Join(dir, result.FileName)
	file, err := result.Read(path)
	if err != nil || !file.Run.Unfinished {
		return err
	}
	if on, err := goesOn(dir); on || err != nil {
		return err
	}
	unlisted, err := unlisted(dir, file.Rows)
	if err != nil || len(unlisted) == 0 {
		return err
	}
	t := &results{file: &file, path: path, order: map[result.Key]int{}}
	for _, row := range file.Rows {
		t.add(row) // in the order that they have
	}
	for _, history := range unlisted {
		row, err := rowOf(ctx, dir, history, true)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // else the history ends before its first line
			t.add(row)
		}
	}
	return t.save()
}

// goesOn says whether a lab still works in the directory: it locks its log.
func goesOn(dir string) (bool, error) {
	log, err := os.Open(filepath.Join(dir, LogFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look whether the run goes on: %w", err)
	}
	defer func() { _ = log.Close() }() // nothing was written
	err = filelock.Shared(log)
	if err != nil && !errors.Is(err, filelock.ErrInUse) {
		return false, fmt.Errorf("look whether the run goes on: lock %s: %w", log.Name(), err)
	}
	return err != nil, nil
}

// unlisted are the histories below the directory that no row names.
func unlisted(dir string, rows []result.Row) ([]string, error) {
	listed := map[string]bool{}
	for _, r := range rows {
		listed[r.History] = true
	}
	all, err := filepath.Glob(filepath.Join(dir, HistoryDir, "*", "*.jsonl"))
	if err != nil {
		return nil, fmt.Errorf("list histories: %w", err)
	}
	var rest []string
	for _, path := range all {
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return nil, fmt.Errorf("list histories: %w", err)
		}
		if !listed[filepath.ToSlash(below)] {
			rest = append(rest, below)
		}
	}
	return rest, nil
}

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
