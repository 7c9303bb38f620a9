package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"locklab/internal/filelock"
	"locklab/reports/view"
	"locklab/workloads/check"
	"locklab/workloads/check/record"
	"locklab/workloads/result"
)

// results is the result of a comparison while it grows, a row for each run. Every change is on disk at once.
type results struct {
	file  *result.File
	path  string
	order map[result.Key]int // lock by lock, in the user's order
}

// newResults goes on from an earlier result, if there is one.
func newResults(parts []Config, file, earlier *result.File) *results {
	t := &results{file: file, path: filepath.Join(parts[0].Dir, result.FileName), order: map[result.Key]int{}}
	for i := range parts {
		for _, lock := range parts[i].Locks {
			for _, s := range parts[i].Scenarios {
				t.order[parts[i].key(lock, s)] = len(t.order)
			}
		}
	}
	if earlier != nil {
		t.goOnFrom(*earlier)
	}
	return t
}

// goOnFrom takes over all rows and warnings of an earlier result, and warns of rows of other programs or machines.
func (t *results) goOnFrom(earlier result.File) {
	run, was, kept := &t.file.Run, earlier.Run, 0
	run.Started, run.DurationMS = was.Started, was.DurationMS
	for _, w := range was.Warnings {
		run.Warn(w)
	}
	for _, row := range earlier.Rows {
		t.add(row)
		if !row.Partial {
			kept++
		}
	}
	if kept > 0 && (was.Commit != run.Commit || was.Host != run.Host || !maps.Equal(was.Versions, run.Versions)) {
		run.Warn(fmt.Sprintf("%d rows were measured before the run was resumed: "+
			"by commit %s on %s %s with %d CPUs, perhaps with other versions of servers",
			kept, was.Commit, was.Host.OS, was.Host.Kernel, was.Host.CPUs))
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

// add adds the row of a run that has none.
func (t *results) add(row result.Row) {
	if _, known := t.order[row.Key()]; !known {
		t.order[row.Key()] = len(t.order)
	}
	t.file.Rows = append(slices.Clone(t.file.Rows), row) // others may have the old ones
	slices.SortStableFunc(t.file.Rows, func(a, b result.Row) int {
		return cmp.Or(cmp.Compare(t.order[a.Key()], t.order[b.Key()]), cmp.Compare(a.Repeat, b.Repeat))
	})
}

// drop removes the row of a run that begins again. What it showed against a safe lock stays as a warning.
func (t *results) drop(key result.Key, repeat int) error {
	i := t.find(key, repeat)
	if i < 0 {
		return nil
	}
	was := t.file.Rows[i]
	if safety := was.Verdict.Safety; safety.State == result.Failed && was.Expected.Safety == result.Safe {
		t.file.Run.Warn(fmt.Sprintf("%s under %s: an earlier try that decided nothing showed %.0f %s",
			was.Lock, was.Scenario, safety.N, safety.Code))
	}
	t.file.Rows = slices.Delete(slices.Clone(t.file.Rows), i, i+1)
	return t.save()
}

func (t *results) put(row result.Row) error {
	t.add(row)
	return t.save()
}

func (t *results) save() error { return result.Write(t.path, *t.file) }

// rowOf judges a history below the report's directory. An undecided row of a run that was cut short is partial.
func rowOf(ctx context.Context, dir, path string, cut bool) (result.Row, error) {
	row, err := check.File(ctx, filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return result.Row{}, err
	}
	debug.FreeOSMemory() // a history takes much for a moment, and nothing is measured now
	row.History, row.Partial = filepath.ToSlash(path), cut && !row.Decided()
	return row, nil
}

// Names in the directory of a comparison.
const (
	LogFile    = "lab.log"   // what agents and links have to say
	HistoryDir = "histories" // with the events of every run that began
	logDir     = "logs"      // with what the nodes of every run had to say
)

// OpenLog keeps logs of agents and links off the console. Its lock marks the directory as in use; see Complete.
func OpenLog(dir string) (io.Closer, *slog.Logger, error) {
	path := filepath.Join(dir, LogFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644) //nolint:gosec // meant to be read by others
	if err != nil {
		return nil, nil, fmt.Errorf("create log: %w", err)
	}
	if err := filelock.Exclusive(f); err != nil {
		const text = "lock %s: another run works in this directory: want another one, or wait for its end: %w"
		return nil, nil, errors.Join(fmt.Errorf(text, f.Name(), err), f.Close())
	}
	return f, slog.New(slog.NewTextHandler(f, nil)), nil
}

// Complete adds rows of histories that a killed comparison did not judge. It leaves alone a comparison that has ended,
// or that goes on.
func Complete(ctx context.Context, dir string) error {
	t := &results{path: filepath.Join(dir, result.FileName), order: map[result.Key]int{}}
	file, err := result.Read(t.path)
	if err != nil || !file.Run.Unfinished {
		return err
	}
	log, _, err := OpenLog(dir)
	if errors.Is(err, filelock.ErrInUse) {
		return nil // it goes on
	}
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // nothing was written
	t.file = &result.File{Schema: file.Schema, Run: file.Run}
	t.goOnFrom(file)
	all, err := filepath.Glob(filepath.Join(dir, HistoryDir, "*", "*.jsonl"))
	if err != nil {
		return fmt.Errorf("list histories: %w", err)
	}
	for _, path := range all {
		below := filepath.ToSlash(strings.TrimPrefix(path, filepath.Clean(dir)+string(filepath.Separator)))
		if slices.ContainsFunc(t.file.Rows, func(r result.Row) bool { return r.History == below }) {
			continue
		}
		row, err := rowOf(ctx, dir, below, true)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil { // else the history ends before its first line
			t.add(row)
		}
	}
	return t.save()
}

// Open reads the histories of the report in a directory, for its page.
func Open(dir string) view.Open {
	return func(ctx context.Context, row *result.Row) (view.History, error) {
		run, err := record.Read(ctx, filepath.Join(dir, filepath.FromSlash(row.History)))
		if err != nil {
			return view.History{}, err
		}
		h := view.History{Run: run}
		for _, v := range check.Violations(run) {
			if !v.Excused {
				h.ViolationsMS = append(h.ViolationsMS, v.AtMS)
			}
		}
		return h, nil
	}
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
