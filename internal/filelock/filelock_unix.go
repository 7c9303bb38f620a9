//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

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
