package filelock

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// Exclusive takes the file for this handle alone, or fails at once with [ErrInUse]. It locks one byte far behind the
// end: Windows refuses others to read what is locked.
func Exclusive(f *os.File) error {
	at := windows.Overlapped{Offset: math.MaxUint32, OffsetHigh: math.MaxInt32}
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrInUse
	}
	if err != nil {
		return fmt.Errorf("LockFileEx: %w", err)
	}
	return nil
}
