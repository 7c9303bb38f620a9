// Package filelock locks files for as long as they are open. The system frees a lock when
// the process ends, however it ends.
package filelock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrInUse says that another process, or another handle of this one, has the lock.
var ErrInUse = errors.New("the file is locked by another process")

// Exclusive takes the file for this handle alone, or fails at once with [ErrInUse].
func Exclusive(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:gosec // descriptors are small
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrInUse
	}
	if err != nil {
		return fmt.Errorf("flock: %w", err)
	}
	return nil
}
