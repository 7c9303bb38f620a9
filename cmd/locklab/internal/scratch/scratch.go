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
	"strconv"
	"strings"
	"time"

	"locklab/internal/filelock"
	"locklab/internal/posix"
	"locklab/locks/clock"
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
	if err := posix.Missing(); err != nil { // nor are there nodes then
		return nil, err
	}
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
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	d := &Dir{Path: path, lock: lock}
	switch err := filelock.Exclusive(lock); {
	case errors.Is(err, filelock.ErrInUse): // who has it removes the directory
		return nil, errors.Join(err, lock.Close())
	case err != nil:
		return nil, errors.Join(err, d.Remove())
	}
	mine, err := lock.Stat()
	if err != nil {
		return nil, errors.Join(err, d.Remove())
	}
	if there, err := os.Lstat(lock.Name()); err != nil || !os.SameFile(mine, there) {
		return nil, errors.Join(fmt.Errorf("%s was removed by another process", path), lock.Close())
	}
	return d, nil
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
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && e.IsDir() {
			removeOrphan(root, e.Name())
		}
	}
}

func removeOrphan(root *os.Root, name string) {
	proof := filepath.Join(name, ownerFile)
	if !isMine(root, name, fs.ModeDir) {
		return // another user's, or a link: not of this package
	}
	if !isMine(root, proof, 0) {
		removeUnborn(root, name)
		return
	}
	lock, err := root.OpenFile(proof, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = lock.Close() }() // its lock with it
	if filelock.Exclusive(lock) == nil {
		_ = root.RemoveAll(name)
	}
}

// unbornAge is how old a directory without an owner must be: it has one an instant after
// it was made.
const unbornAge = time.Hour

// removeUnborn removes a directory whose maker was killed before it owned it: it is old,
// it has the name that this package gives, and there is nothing in it.
func removeUnborn(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil || clock.System().Now().Sub(info.ModTime()) < unbornAge {
		return
	}
	if _, err := strconv.ParseUint(strings.TrimPrefix(name, prefix), 10, 64); err == nil {
		_ = root.Remove(name) // fails if anything is in it
	}
}

// isMine says whether something is of that type, not a link to it, and belongs to this user.
func isMine(root *os.Root, name string, kind fs.FileMode) bool {
	info, err := root.Lstat(name)
	return err == nil && info.Mode().Type() == kind && posix.Mine(info)
}
