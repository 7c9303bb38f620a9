// Package scratch makes directories for the nodes' data that do not outlive their use,
// also when SIGKILL ends the process: the next one removes what nobody owns any more.
//
// The owner of a directory holds a lock on a file in it, which the kernel gives
// back when the process ends, however it ends.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"locklab/internal/filelock"
)

const (
	prefix    = "locklab-"
	ownerFile = "owner.lock" // what the owner has locked
)

// Dir is a directory with its owner: this process.
type Dir struct {
	Path string
	lock *os.File
}

// New makes a directory in the system's place for temporary files, and removes those
// that processes of the same user left there when they were killed.
func New() (*Dir, error) {
	removeOrphans(os.TempDir())
	const tries = 3 // another process may take a directory for an orphan before it is locked
	var err error
	for range tries {
		var d *Dir
		if d, err = create(); err == nil {
			return d, nil
		}
	}
	return nil, fmt.Errorf("create data directory: %w", err)
}

func create() (*Dir, error) {
	path, err := os.MkdirTemp("", prefix+"*")
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, ownerFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	err = filelock.Exclusive(lock)
	if _, gone := os.Lstat(lock.Name()); err == nil {
		err = gone // another process has removed it before it was locked
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Dir{Path: path, lock: lock}, nil
}

// Remove removes the directory with all that is in it.
func (d *Dir) Remove() error { return errors.Join(os.RemoveAll(d.Path), d.lock.Close()) }

// removeOrphans removes directories that this package made for this user and whose owner
// is gone. What cannot be told or removed stays: it is in nobody's way.
func removeOrphans(base string) {
	root, err := os.OpenRoot(base) // nothing below it leads out of it
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // only read from
	entries, _ := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		proof := filepath.Join(e.Name(), ownerFile)
		if !strings.HasPrefix(e.Name(), prefix) || !isMine(root, e.Name(), fs.ModeDir) || !isMine(root, proof, 0) {
			continue // another user's, or a link: not of this package
		}
		lock, err := root.OpenFile(proof, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if filelock.Exclusive(lock) == nil {
			_ = root.RemoveAll(e.Name())
		}
		_ = lock.Close() // its lock with it
	}
}

// isMine says whether something is of that type, not a link to it, and belongs to this user.
func isMine(root *os.Root, name string, kind fs.FileMode) bool {
	info, err := root.Lstat(name)
	if err != nil || info.Mode().Type() != kind {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
