package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/workloads/check/judge"
	"locklab/workloads/result"
)

// results is the result of a comparison while it grows: one row for each run. It is on disk after
// every change, so that a process that is killed leaves its rows.
type results struct {
	file  *result.File
	path  string
	order map[result.Key]int // lock by lock, in the user's order
}

func (c *Config) key(lock catalog.Lock, s scenario.Scenario) result.Key {
	return result.Key{Lock: lock.String(), Scenario: s.Name, Workload: c.Workload.Name}
}

func newResults(parts []Config, file *result.File) *results {
	t := &results{file: file, path: filepath.Join(parts[0].Dir, result.FileName), order: map[result.Key]int{}}
	for i := range parts {
		for _, lock := range parts[i].Locks {
			for _, s := range parts[i].Scenarios {
				t.order[parts[i].key(lock, s)] = len(t.order)
			}
		}
	}
	return t
}

// keep takes over the rows of an earlier result, also those of combinations that are not asked
// for any more.
func (t *results) keep(earlier result.File) {
	t.file.Run.DurationMS = earlier.Run.DurationMS
	for _, row := range earlier.Rows {
		t.add(row)
	}
}

// done says that a run has its row. A partial row does not count.
func (t *results) done(key result.Key, repeat int) bool {
	i := t.find(key, repeat)
	return i >= 0 && !t.file.Rows[i].Partial
}

func (t *results) find(key result.Key, repeat int) int {
	return slices.IndexFunc(t.file.Rows, func(r result.Row) bool { return r.Key() == key && r.Repeat == repeat })
}

// add adds a row, or replaces that of the same run.
func (t *results) add(row result.Row) {
	if _, known := t.order[row.Key()]; !known {
		t.order[row.Key()] = len(t.order)
	}
	rows := slices.DeleteFunc(slices.Clone(t.file.Rows), func(r result.Row) bool { return r.Key() == row.Key() && r.Repeat == row.Repeat })
	t.file.Rows = append(rows, row)
	slices.SortStableFunc(t.file.Rows, func(a, b result.Row) int {
		return cmp.Or(cmp.Compare(t.order[a.Key()], t.order[b.Key()]), cmp.Compare(a.Repeat, b.Repeat))
	})
}

// drop takes out the row of a run that begins again. A violation of a lock that is expected to be safe
// stays on record as a warning.
func (t *results) drop(key result.Key, repeat int) error {
	i := t.find(key, repeat)
	if i < 0 {
		return nil
	}
	if was := t.file.Rows[i]; was.Verdict.Safety.State == result.Failed && was.Expected.Safety == result.Safe {
		t.file.Run.Warn(fmt.Sprintf("%s under %s: an earlier try that decided nothing showed %.0f %s", was.Lock, was.Scenario, was.Verdict.Safety.N, was.Verdict.Safety.Code))
	}
	t.file.Rows = slices.Delete(slices.Clone(t.file.Rows), i, i+1)
	return t.save()
}

func (t *results) put(row result.Row) error {
	t.add(row)
	return t.save()
}

func (t *results) save() error { return result.Write(t.path, *t.file) }

// rowOf judges a history below the directory of the report. An undecided row of a run that was cut short
// is partial.
func rowOf(ctx context.Context, dir, path string, cut bool) (result.Row, error) {
	row, err := judge.File(ctx, filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return result.Row{}, err
	}
	debug.FreeOSMemory() // a history takes much for a moment, and nothing is measured now
	row.History, row.Partial = filepath.ToSlash(path), cut && !row.Decided()
	return row, nil
}

// setAside renames a history, so that the run can be repeated.
func setAside(path string) error {
	for n := 1; ; n++ {
		beside := fmt.Sprintf("%s.aside-%d", path, n)
		if _, err := os.Lstat(beside); err == nil {
			continue
		}
		if err := os.Rename(path, beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("keep the history of a run that is run again: %w", err)
		}
		return nil
	}
}
