package diskfault

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"locklab/internal/damage"
	"locklab/nodes/diskfault/shadow"
	"locklab/workloads/history"
)

// power tracks unsynced data for a power cut, once there is a shadow.
type power struct {
	shadow atomic.Pointer[shadow.Shadow]
	beyond sync.Map // calls that cannot be followed
}

// WatchPower tracks unsynced data of the directory from now on; all present data count as durable. It creates and
// uses the directory kept, on the same file system.
func (d *Disk) WatchPower(kept string) error {
	s, err := shadow.Of(d.dir, kept)
	if err != nil {
		return err
	}
	if old := d.power.shadow.Swap(s); old != nil {
		old.Close()
	}
	return nil
}

// CutPower removes unsynced data from the directory. All processes that use it must have ended.
func (d *Disk) CutPower(how damage.Power) (lost history.Lost, err error) {
	s := d.power.shadow.Load()
	if s == nil {
		return lost, ErrNotWatched
	}
	lost, err = s.Lose(how)
	for what := range d.power.beyond.Range {
		err = errors.Join(err, fmt.Errorf("writes through %s cannot be followed", what))
	}
	return lost, err
}

// Close ends the tracking of unsynced data.
func (d *Disk) Close() {
	if s := d.power.shadow.Swap(nil); s != nil {
		s.Close()
	}
}

// note handles a call before it happens.
func (d *Disk) note(n notice) {
	switch n.number { // even before WatchPower: mappings and rings last
	case unix.SYS_MMAP:
		if file, err := os.Readlink(n.file(n.args[4])); err == nil && strings.HasPrefix(file, d.dir+"/") {
			d.cannotFollow("a mapping into memory")
		}
	case unix.SYS_IO_URING_SETUP, unix.SYS_IO_SETUP:
		d.cannotFollow("io_uring or libaio")
	}
	s := d.power.shadow.Load()
	if s == nil {
		return
	}
	args, write := n.args, s.Write
	until := func(from, to uint64) func(int64) (int64, int64, bool) {
		return func(int64) (int64, int64, bool) { return int64(from), int64(to), false } //nolint:gosec // offsets
	}
	switch n.number {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		s.Sync(n.file(args[0]))
	case unix.SYS_SYNC, unix.SYS_SYNCFS:
		if err := s.SyncAll(); err != nil {
			d.cannotFollow("sync: " + err.Error())
		}
	case unix.SYS_WRITE, unix.SYS_WRITEV:
		write(n.file(args[0]), n.span(-1, args[2]))
	case unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2:
		write(n.file(args[0]), n.span(int64(args[3]), args[2])) //nolint:gosec // an offset
	case unix.SYS_FALLOCATE:
		if args[1]&^unix.FALLOC_FL_KEEP_SIZE == 0 {
			args[2] = shadow.End // the file only gets longer
		}
		write(n.file(args[0]), until(args[2], shadow.End))
	case unix.SYS_FTRUNCATE:
		write(n.file(args[0]), until(args[1], shadow.End))
	case unix.SYS_SENDFILE:
		write(n.file(args[0]), n.copied(args[0]))
	case unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE:
		write(n.file(args[2]), n.copied(args[2]))
	case unix.SYS_TRUNCATE:
		d.named(n, unix.AT_FDCWD, args[0], func(path string) { write(path, until(args[1], shadow.End)) })
	case unix.SYS_OPENAT:
		dir := int(int32(args[0])) //nolint:gosec // an int
		d.named(n, dir, args[1], func(path string) { write(path, until(0, shadow.End)) })
	case open, creat:
		d.named(n, unix.AT_FDCWD, args[0], func(path string) { write(path, until(0, shadow.End)) })
	}
}

func (d *Disk) cannotFollow(what string) { d.power.beyond.Store(what, true) }

// of returns the path of a file of the caller in /proc.
func (n notice) of(name string) string { return filepath.Join("/proc", strconv.Itoa(int(n.pid)), name) }

// file returns a path to the caller's open file fd.
func (n notice) file(fd uint64) string {
	return n.of("fd/" + strconv.Itoa(int(int32(fd)))) //nolint:gosec // a file descriptor is an int
}

// span returns the range that a write at an offset changes; -1 is the position of the caller's file.
func (n notice) span(at int64, count uint64) func(int64) (int64, int64, bool) {
	return func(size int64) (from, to int64, synced bool) {
		pos, flags := n.opened(n.args[0])
		if at >= 0 {
			pos = at
		}
		if flags&unix.O_APPEND != 0 {
			pos = size
		}
		synced = flags&unix.O_DSYNC != 0
		switch n.number {
		case unix.SYS_PWRITEV2:
			synced = synced || n.args[5]&(unix.RWF_DSYNC|unix.RWF_SYNC) != 0
			return max(at, 0), shadow.End, synced
		case unix.SYS_WRITEV, unix.SYS_PWRITEV: // the length is in the caller's memory
			return pos, shadow.End, synced
		}
		return pos, pos + int64(min(count, 1<<31)), synced //nolint:gosec // no call writes more
	}
}

// copied returns the range that a copy to a file of the caller may change: all of it.
func (n notice) copied(to uint64) func(int64) (int64, int64, bool) {
	return func(int64) (int64, int64, bool) {
		_, flags := n.opened(to)
		return 0, shadow.End, flags&unix.O_DSYNC != 0
	}
}

// opened returns the position and the flags of a file of the caller; 0 if unknown.
func (n notice) opened(fd uint64) (pos int64, flags uint64) {
	text, _ := os.ReadFile(n.of("fdinfo/" + strconv.Itoa(int(int32(fd))))) //nolint:gosec // an int
	for line := range strings.Lines(string(text)) {
		switch key, value, _ := strings.Cut(line, ":"); key {
		case "pos":
			pos, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		case "flags":
			flags, _ = strconv.ParseUint(strings.TrimSpace(value), 8, 64)
			return pos, flags
		}
	}
	return pos, flags
}

// named calls do with the file of a path in the caller's memory, if it exists.
func (d *Disk) named(n notice, from int, at uint64, do func(path string)) {
	path, err := n.text(at)
	if err != nil {
		d.cannotFollow("a file by a name that cannot be read: " + err.Error())
		return
	}
	if !filepath.IsAbs(path) {
		place := n.of("cwd")
		if from != unix.AT_FDCWD {
			place = n.file(uint64(from)) //nolint:gosec // a file descriptor
		}
		path = place + "/" + path
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil { // the file does not exist yet
		return
	}
	defer func() { _ = unix.Close(fd) }()
	do("/proc/self/fd/" + strconv.Itoa(fd))
}

// text reads a string from the caller's memory.
func (n notice) text(at uint64) (string, error) {
	memory, err := os.Open(n.of("mem"))
	if err != nil {
		return "", err
	}
	defer func() { _ = memory.Close() }()
	buffer := make([]byte, unix.PathMax)
	got, err := memory.ReadAt(buffer, int64(at)) //nolint:gosec // an address of a process
	end := bytes.IndexByte(buffer[:got], 0)
	if end < 0 {
		return "", fmt.Errorf("read a path: %w", err)
	}
	return string(buffer[:end]), nil
}
