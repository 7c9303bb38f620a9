package shadow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"locklab/internal/damage"
	"locklab/workloads/history"
)

// Shadow is the durable state of a directory. It is safe for concurrent use.
type Shadow struct {
	dir, kept string // the directory; and the directory of links to its files

	mu      sync.Mutex
	device  uint64
	dirs    map[uint64]*directory // durable directories, by inode
	files   map[uint64]*file      // files with unsynced writes, by inode
	links   map[uint64]bool       // files with a link in kept, so that their inodes are not reused
	named   map[uint64]bool       // inodes that have a name in dirs
	root    uint64
	written uint64 // the file of the last write, unless synced since
	from    int64  // the range of that write
	to      int64
	failed  error // why the durable state may be unknown
}

// directory has the synced names, and those that syncing a new file made durable since. held keeps its inode.
type directory struct {
	held         *os.File
	names, taken map[string]entry
}

// durable returns the names that survive a power cut.
func (d *directory) durable(strict bool) map[string]entry {
	if strict || d.taken == nil {
		return d.names
	}
	return d.taken
}

type entry struct {
	inode    uint64
	mode     fs.FileMode
	uid, gid int
}

// file is the durable state of a file with unsynced writes: its size, and its overwritten blocks.
type file struct {
	size  int64
	saved map[int64][]byte // by number
	from  *os.File
}

// block is the unit in which bytes are saved.
const block = 4096

// End is the end of a write of unknown length.
const End = math.MaxInt64

// Of returns a shadow for which all present data of dir are durable. It creates the directory kept, which
// must be on the same file system, for links.
func Of(dir, kept string) (*Shadow, error) {
	dir, err := filepath.EvalSymlinks(dir) // the kernel reports real paths
	if err != nil {
		return nil, err
	}
	s := &Shadow{dir: dir, kept: kept}
	return s, s.SyncAll()
}

// SyncAll makes all present data durable.
func (s *Shadow) SyncAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.syncAll()
}

func (s *Shadow) syncAll() error {
	s.forget()
	s.dirs, s.files = map[uint64]*directory{}, map[uint64]*file{}
	s.links, s.named, s.failed = map[uint64]bool{}, map[uint64]bool{}, nil
	err := errors.Join(os.RemoveAll(s.kept), os.Mkdir(s.kept, 0o700))
	stat, known := statOf(s.dir)
	if err != nil || !known {
		return fmt.Errorf("shadow of %s: %w", s.dir, errors.Join(err, fs.ErrNotExist))
	}
	s.device, s.root = stat.Dev, stat.Ino
	return s.adopt(s.dir, stat.Ino, true)
}

// Close frees all resources, except the directory kept, which the caller removes.
func (s *Shadow) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
}

func (s *Shadow) forget() {
	for _, d := range s.dirs {
		_ = d.held.Close()
	}
	for _, f := range s.files {
		f.close()
	}
	s.dirs, s.files, s.written = nil, nil, 0
}

// adopt makes a directory durable with its present names; if deep, also all directories below it.
func (s *Shadow) adopt(path string, inode uint64, deep bool) error {
	d, err := s.directory(path, inode)
	if err == nil {
		d.names, err = s.take(path, deep)
		d.taken = nil
	}
	return err
}

// take returns the present names of a directory, and keeps their files. A new subdirectory counts as empty unless deep.
func (s *Shadow) take(path string, deep bool) (map[string]entry, error) {
	names, err := s.list(path)
	for name, e := range names {
		below := filepath.Join(path, name)
		switch {
		case err != nil:
			return nil, err
		case e.mode.IsDir() && deep:
			err = s.adopt(below, e.inode, true)
		case e.mode.IsDir():
			_, err = s.directory(below, e.inode)
		default:
			err = s.link(below, e.inode, 0)
		}
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			delete(names, name)
			err = nil
		}
		s.named[e.inode] = true
	}
	return names, err
}

func (s *Shadow) directory(path string, inode uint64) (*directory, error) {
	if d := s.dirs[inode]; d != nil {
		return d, nil
	}
	held, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	d := &directory{held: held}
	s.dirs[inode] = d
	return d, nil
}

// list returns the present names of a directory.
func (s *Shadow) list(path string) (map[string]entry, error) {
	found, err := os.ReadDir(path)
	names := make(map[string]entry, len(found))
	for _, f := range found {
		info, err := f.Info()
		if err != nil { // removed meanwhile
			continue
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Dev == s.device {
			names[f.Name()] = entry{stat.Ino, info.Mode(), int(stat.Uid), int(stat.Gid)}
		}
	}
	return names, err
}

// link keeps a file alive with a link.
func (s *Shadow) link(path string, inode uint64, flags int) error {
	if s.links[inode] {
		return nil
	}
	if err := unix.Linkat(unix.AT_FDCWD, path, unix.AT_FDCWD, s.at(inode), flags); err != nil {
		return fmt.Errorf("keep %s: %w", path, err)
	}
	s.links[inode] = true
	return nil
}

// at returns the path of the link to a file.
func (s *Shadow) at(inode uint64) string { return filepath.Join(s.kept, strconv.FormatUint(inode, 10)) }

func (s *Shadow) unlink(inode uint64) {
	s.fail(os.Remove(s.at(inode)))
	delete(s.links, inode)
}

func (s *Shadow) fail(err error) {
	if s.failed == nil {
		s.failed = err
	}
}

func statOf(path string) (stat syscall.Stat_t, known bool) {
	return stat, syscall.Stat(path, &stat) == nil
}

// below reports whether the file of a path, perhaps in /proc, is in the directory.
func (s *Shadow) below(path string, inode uint64) bool {
	if s.links[inode] || s.dirs[inode] != nil {
		return true
	}
	real, err := os.Readlink(path)
	return err == nil && strings.HasPrefix(real, s.dir+"/")
}

// Write must be called before a write to the file of a path, which may be in /proc. If the file is in the directory,
// span returns the range of the write, and whether the write is synced, which also syncs all earlier ones.
func (s *Shadow) Write(path string, span func(size int64) (from, to int64, synced bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stat, known := statOf(path)
	if s.files == nil || !known || stat.Mode&syscall.S_IFMT != syscall.S_IFREG || stat.Dev != s.device ||
		stat.Nlink == 0 || !s.below(path, stat.Ino) {
		return
	}
	from, to, synced := span(stat.Size)
	if synced {
		s.takeNames(path, stat.Ino)
		s.syncFile(stat.Ino)
		return
	}
	f := s.files[stat.Ino]
	if f == nil {
		if err := s.link(path, stat.Ino, unix.AT_SYMLINK_FOLLOW); err != nil {
			if !errors.Is(err, fs.ErrNotExist) { // this: the file has no name any more
				s.fail(err)
			}
			return
		}
		f = &file{size: stat.Size}
		s.files[stat.Ino] = f
	}
	s.written, s.from, s.to = stat.Ino, max(from, 0), to
	s.fail(f.save(s.at(stat.Ino), max(from, 0), min(to, f.size)))
}

// save saves the blocks of a range that are not saved yet.
func (f *file) save(path string, from, to int64) (err error) {
	for n := from / block; n*block < to; n++ {
		if _, saved := f.saved[n]; saved {
			continue
		}
		if f.from == nil {
			if f.from, err = os.Open(path); err != nil {
				return err
			}
			f.saved = map[int64][]byte{}
		}
		data := make([]byte, min(block, f.size-n*block))
		if _, err := f.from.ReadAt(data, n*block); err != nil && !errors.Is(err, io.EOF) { // shorter now: zeros
			return err
		}
		f.saved[n] = data
	}
	return nil
}

func (f *file) close() {
	if f.from != nil {
		_ = f.from.Close()
	}
}

// Sync must be called before a file or directory is synced.
func (s *Shadow) Sync(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stat, known := statOf(path)
	switch {
	case s.files == nil || !known || stat.Dev != s.device:
	case stat.Mode&syscall.S_IFMT == syscall.S_IFREG:
		if s.below(path, stat.Ino) {
			s.takeNames(path, stat.Ino)
		}
		s.syncFile(stat.Ino)
	case stat.Mode&syscall.S_IFMT == syscall.S_IFDIR &&
		(stat.Ino == s.root || s.below(path, stat.Ino)):
		s.fail(s.adopt(path, stat.Ino, false))
		s.sweep()
	}
}

func (s *Shadow) syncFile(inode uint64) {
	f := s.files[inode]
	if f == nil {
		return
	}
	f.close()
	delete(s.files, inode)
	if s.written == inode {
		s.written = 0
	}
	if !s.named[inode] {
		s.unlink(inode)
	}
}

// takeNames makes the names in the directory of a synced file durable if the file's own name is new, and so on
// upwards: journaling file systems write them together.
func (s *Shadow) takeNames(path string, inode uint64) {
	real, err := os.Readlink(path)
	if stat, known := statOf(real); !known || stat.Ino != inode { // deleted; another file may have its name
		return
	}
	for err == nil && strings.HasPrefix(real, s.dir+"/") {
		above := filepath.Dir(real)
		stat, known := statOf(above)
		if !known { // deleted
			break
		}
		var d *directory
		d, err = s.directory(above, stat.Ino)
		if err == nil && d.durable(false)[filepath.Base(real)].inode != inode {
			d.taken, err = s.take(above, false)
		}
		real, inode = above, stat.Ino
	}
	s.fail(err)
}

// sweep forgets files and directories that have neither a durable nor a present name.
func (s *Shadow) sweep() {
	s.named = map[uint64]bool{}
	for _, d := range s.dirs {
		for _, names := range []map[string]entry{d.names, d.taken} {
			for _, e := range names {
				s.named[e.inode] = true
			}
		}
	}
	for inode, d := range s.dirs {
		var stat syscall.Stat_t
		if inode != s.root && !s.named[inode] && syscall.Fstat(int(d.held.Fd()), &stat) == nil && stat.Nlink == 0 {
			_ = d.held.Close()
			delete(s.dirs, inode)
		}
	}
	for inode := range s.links {
		if s.named[inode] {
			continue
		}
		if f := s.files[inode]; f == nil {
			s.unlink(inode)
		} else if stat, known := statOf(s.at(inode)); known && stat.Nlink == 1 {
			s.syncFile(inode)
		}
	}
}

// Lose restores the durable state of the directory. No process may use it meanwhile.
func (s *Shadow) Lose(how damage.Power) (lost history.Lost, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.failed
	for inode, f := range s.files {
		upTo := int64(0)
		if how.Torn && inode == s.written {
			size := sizeOf(s.at(inode))
			upTo = min(s.from+(min(s.to, size)-s.from+1)/2, size)
		}
		bytes, wrong := f.putBack(s.at(inode), upTo)
		lost.Bytes += bytes
		err = errors.Join(err, wrong)
	}
	err = errors.Join(err, s.putBack(s.dir, s.root, how.Strict, &lost))
	if err == nil {
		err = s.syncAll()
	}
	if err != nil {
		return lost, fmt.Errorf("put %s back: %w", s.dir, err)
	}
	return lost, nil
}

func sizeOf(path string) int64 {
	stat, _ := statOf(path)
	return stat.Size
}

// putBack restores a file, except for the bytes before upTo, and returns how many bytes it lost.
func (f *file) putBack(path string, upTo int64) (lost int64, err error) {
	to, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	has, size := sizeOf(path), max(f.size, upTo)
	lost = max(has-size, 0)
	if err := to.Truncate(size); err != nil {
		return lost, err
	}
	for n, data := range f.saved {
		keep := min(max(upTo-n*block, 0), int64(len(data)))
		now := make([]byte, len(data))
		if _, err := to.ReadAt(now, n*block); err != nil && !errors.Is(err, io.EOF) {
			return lost, err
		}
		if bytes.Equal(now[keep:], data[keep:]) {
			continue
		}
		for i := range data[keep:] {
			if now[keep:][i] != data[keep:][i] {
				lost++
			}
		}
		if _, err := to.WriteAt(data[keep:], n*block+keep); err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// putBack restores the names of a directory.
func (s *Shadow) putBack(path string, inode uint64, strict bool, lost *history.Lost) error {
	had := s.dirs[inode].durable(strict)
	has, err := s.list(path)
	for name, e := range has {
		if had[name].inode != e.inode {
			err = errors.Join(err, os.RemoveAll(filepath.Join(path, name)))
			lost.Names++
		}
	}
	for name, e := range had {
		below := filepath.Join(path, name)
		if now, there := has[name]; now.inode != e.inode {
			if !there {
				lost.Names++
			}
			if !e.mode.IsDir() {
				err = errors.Join(err, os.Link(s.at(e.inode), below))
			} else {
				err = errors.Join(err, os.Mkdir(below, 0o700), os.Chmod(below, e.mode), os.Chown(below, e.uid, e.gid))
			}
		}
		if e.mode.IsDir() {
			err = errors.Join(err, s.putBack(below, e.inode, strict, lost))
		}
	}
	return err
}
