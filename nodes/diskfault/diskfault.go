// Package diskfault makes the disk of any unchanged program slow or full, or cuts its power, without root and
// without a file system of its own.
//
//	agent ── starts ──▶ locklab node disk ── seccomp filter, then exec ──▶ the server
//	  ▲                        │ the filter's listener, over a socket          │ fsync, write
//	  └─ Disk.Serve ◀──────────┘                                               ▼
//	        answers each call: go on, go on after the delay, ENOSPC ◀───── the kernel
//
// The kernel stops each of these calls of the server, and of all processes that it starts, and asks
// the agent for the answer (SECCOMP_RET_USER_NOTIF, seccomp_unotify(2)). So the kernel's own notices
// prove the fault: how many calls were held, and for how long, or refused. The filter must be
// installed before a program starts, so only nodes that a fault of the run may hit have one. It
// costs them some microseconds per call.
//
// A slow disk holds fsync, fdatasync and sync_file_range. A full one refuses all writes to new and
// old files in the node's directory, as if every write needed new blocks. It does not refuse writes
// to mapped memory or through io_uring, copy_file_range, sendfile or splice, nor creating, renaming or
// truncating files: none of the lab's servers stores durable data that way.
//
// A power cut removes unsynced data: bytes of files and names in directories (package shadow). fsync, fdatasync,
// sync, syncfs and files opened with O_SYNC or O_DSYNC sync; sync_file_range does not, as its manual says. The cut
// fails if the program used a writable mapping of a file in the directory, io_uring or libaio, which cannot be
// followed. It does not notice ioctls that clone files, openat2 with O_TRUNC, and mappings that become
// writable later.
package diskfault

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"locklab/internal/damage"
	"locklab/locks/clock"
)

// Calls is the set of watched calls of a program; "" is none.
type Calls string

// A slow disk needs Syncs. A full disk needs Writes, which include Syncs, and writes to sockets. A power
// cut needs Power, which includes all of these.
const (
	Syncs  Calls = "syncs"
	Writes Calls = "writes"
	Power  Calls = "power"
)

// More returns the larger of two sets.
func (c Calls) More(other Calls) Calls {
	order := []Calls{"", Syncs, Writes, Power}
	return order[max(slices.Index(order, c), slices.Index(order, other))]
}

// ErrNotWatched says that the calls that a power cut must know were not watched.
var ErrNotWatched = errors.New("it was not started with a disk whose power can be cut")

// Command returns the arguments of `locklab node disk`, for [Exec], that run a program with its calls
// watched. File descriptor fd of that process is one end of [Sockets]; [Disk.Serve] uses the other.
func Command(fd int, calls Calls, path string, args []string) []string {
	return append([]string{strconv.Itoa(fd), string(calls), path}, args...)
}

// Disk is a node's disk, through all its incarnations.
type Disk struct {
	dir   string // files elsewhere are on another disk
	power power

	mu      sync.Mutex
	seen    damage.Seen
	changed chan struct{} // closed when another fault is set
}

// New returns a disk without a fault for a program that writes below dir, which must exist.
func New(dir string) *Disk {
	if real, err := filepath.EvalSymlinks(dir); err == nil { // the kernel reports real paths
		dir = real
	}
	return &Disk{dir: dir, changed: make(chan struct{})}
}

// Set sets the fault. Calls that the previous one holds go on.
func (d *Disk) Set(wrong damage.Disk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = damage.Seen{Disk: wrong}
	close(d.changed)
	d.changed = make(chan struct{})
}

// Seen returns the present fault and its effects.
func (d *Disk) Seen() damage.Seen {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// meet lets a call go on, now or later, or refuses it, by the present fault. syncs says that the call
// waits for the disk; others write, to the node's directory if below returns true. send sends the answer.
func (d *Disk) meet(syncs bool, below func() bool, send func(refuse bool) (taken bool)) {
	d.mu.Lock()
	fault, changed, since := d.seen.Disk, d.changed, clock.Mono()
	slow := syncs && fault.Delay > 0
	refuse := !syncs && fault.Full && below()
	if slow || refuse {
		d.seen.Hit++
	}
	d.mu.Unlock()
	switch {
	case slow:
		go func() {
			clock.Await(clock.System(), fault.Delay, changed)
			d.count(changed, since, func() bool { return send(false) })
		}()
	case refuse:
		d.count(changed, since, func() bool { return send(true) })
	default:
		send(false)
	}
}

// count counts a call that the fault has held or refused, if the kernel has taken the answer and the fault
// is still set. It holds the mutex while it sends, so that Seen counts each call whose caller went on.
func (d *Disk) count(changed chan struct{}, since int64, send func() (taken bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !send() || d.changed != changed {
		return
	}
	took := time.Duration(clock.Mono() - since)
	if d.seen.Done++; d.seen.Done == 1 || took < d.seen.Least {
		d.seen.Least = took
	}
}
