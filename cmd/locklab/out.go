package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/cmd/locklab/internal/lab"
	"locklab/locks/clock"
	"locklab/workloads/result"
)

// makeOut creates the directory of the report, unless it is there.
func (f *runFlags) makeOut() (dir string, created bool, err error) {
	if f.out == "" {
		dir, err = freshDir(filepath.Join("reports", "runs"), stamp())
		return dir, true, named("make a directory for the report", err)
	}
	if hasResult(f.out) {
		return "", false, fmt.Errorf("--out %s: there is a result already: want a new directory", f.out)
	}
	created = !hasFile(f.out)
	return f.out, created, named("--out", os.MkdirAll(f.out, 0o755)) //nolint:gosec // reports are to be read by others
}

// freshDir makes a new directory. Names of the same second get a number behind them.
func freshDir(parent, name string) (dir string, err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // reports are to be read by others
		return "", err
	}
	dir = filepath.Join(parent, name)
	for n := 2; ; n++ {
		if err = os.Mkdir(dir, 0o755); !errors.Is(err, fs.ErrExist) { //nolint:gosec // likewise
			return dir, err
		}
		dir = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
	}
}

// stamp names directories by the time of day.
func stamp() string { return clock.System().Now().Format("2006-01-02T15-04-05") }

// discard removes what a comparison left that ended before its first run.
func discard(dir string, created bool) error {
	if hasFile(filepath.Join(dir, lab.HistoryDir)) {
		return nil
	}
	if created {
		return os.RemoveAll(dir)
	}
	return errors.Join(os.RemoveAll(filepath.Join(dir, lab.LogFile)), os.RemoveAll(filepath.Join(dir, result.FileName)))
}

// hasResult says whether the directory is that of a run.
func hasResult(dir string) bool { return hasFile(filepath.Join(dir, result.FileName)) }

func hasFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
