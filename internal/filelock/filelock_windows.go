package filelock

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Exclusive takes the file for this handle alone, or fails at once with [ErrInUse].
func Exclusive(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// Shared takes it such that others can share it, or fails at once with [ErrInUse].
func Shared(f *os.File) error { return lock(f, 0) }

// lock locks one byte far behind the end: Windows refuses others to read what is locked.
func lock(f *os.File, how uint32) error {
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	if err != nil {
		return fmt.Errorf("LockFileEx: %w", err)
	}
	return nil
}
