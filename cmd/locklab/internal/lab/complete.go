package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"locklab/internal/filelock"
	"locklab/nodes/topology"
	"locklab/reports/result"
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
	topo, err := topology.Load(file.Run.Topology)
	if err != nil {
		topo = nil // it was a file of the user's: ranks and zones stay unknown
	}
	unlisted, err := unlisted(dir, file.Results)
	if err != nil || len(unlisted) == 0 {
		return err
	}
	for _, history := range unlisted {
		last, err := judge(ctx, dir, history)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // it ends before it says what was run
		}
		repeats, found := []repeat{last}, last.found
		i := slices.IndexFunc(file.Results, func(r result.Row) bool {
			return r.Lock == found.Run.Lock && r.Scenario == found.Run.Scenario && r.Workload == found.Run.Workload
		})
		if i < 0 {
			row := rowOf(repeats, topo)
			row.Partial = true
			file.Results = append(file.Results, row)
			continue
		}
		for _, earlier := range slices.Backward(file.Results[i].Histories) { // the repeats that were through
			one, err := judge(ctx, dir, earlier)
			if err != nil {
				return err
			}
			repeats = slices.Insert(repeats, 0, one)
		}
		file.Results[i] = rowOf(repeats, topo)
		file.Results[i].Partial = true
	}
	return result.Write(path, file)
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
		for _, h := range r.Histories {
			listed[h] = true
		}
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
