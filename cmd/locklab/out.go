package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"locklab/cmd/locklab/internal/lab"
	"locklab/locks/clock"
	"locklab/reports/result"
)

// makeOut creates the directory of the report, unless it is there, and sees that it can
// be written.
func (f *runFlags) makeOut() (dir string, created bool, err error) {
	dir = f.out
	if dir == "" {
		dir = filepath.Join("reports", "runs", stamp())
	}
	if _, err := os.Stat(filepath.Join(dir, result.FileName)); err == nil {
		return "", false, fmt.Errorf("--out %s: there is a result already: want a new directory", dir)
	}
	_, err = os.Stat(dir)
	created = errors.Is(err, fs.ErrNotExist)
	return dir, created, makeDir("--out", dir)
}

// clearJUnit takes away the file of an earlier comparison, which a CI server would take
// for this one's, and sees that the new one can be written.
func (f *runFlags) clearJUnit() error {
	if f.junit == "" {
		return nil
	}
	if info, err := os.Stat(f.junit); err == nil && info.IsDir() {
		return fmt.Errorf("--junit %s: want the name of a file, and this is a directory", f.junit)
	}
	if err := makeDir("--junit", filepath.Dir(f.junit)); err != nil {
		return err
	}
	if err := os.Remove(f.junit); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--junit: %w", err)
	}
	return nil
}

// makeDir creates a directory for what the flag names, unless it is there, and sees that
// it can be written.
func makeDir(flag, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("%s %s: cannot be written: %w", flag, dir, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// discard takes away what a comparison left that ended before its first run began: no
// node was started, so there is nothing to look at.
func discard(dir string, created bool) error {
	if _, err := os.Stat(filepath.Join(dir, lab.HistoryDir)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if created {
		return os.RemoveAll(dir)
	}
	var errs []error
	for _, name := range []string{lab.LogFile, result.FileName} {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// stamp names directories by the time of day.
func stamp() string { return clock.System().Now().Format("2006-01-02T15-04-05") }
