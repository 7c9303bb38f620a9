// Package diskfault makes the disk of a program slow, or full, or cuts its power, without root, without a file
// system of its own and without a change to the program: ours or any other.
//
//	agent ── starts ──▶ locklab node disk ── seccomp filter, then exec ──▶ the server
//	  ▲                        │ the filter's listener, over a socket          │ fsync, write
//	  └─ Disk.Serve ◀──────────┘                                               ▼
//	        answers each call: go on, go on after the delay, ENOSPC ◀───── the kernel
//
// The kernel stops each of these calls of the server, and of all processes that it starts, and
// asks the agent what to do with it (SECCOMP_RET_USER_NOTIF, seccomp_unotify(2)). So what proves
// the fault is what the kernel told: how many calls were held, for how long, or refused. The
// filter can only be put on a program that starts, so only nodes that a fault of the run hits
// have one; it costs them some microseconds for each such call.
//
// A slow disk holds fsync, fdatasync and sync_file_range. A full one refuses what writes to a
// file in the node's directory, be it new or not, as where every write needs new blocks. What a
// program writes to memory that is mapped from a file, or through io_uring, copy_file_range,
// sendfile or splice, is not refused, nor is that it makes, renames or truncates a file: none of the
// lab's servers stores what it promises that way.
//
// A power cut takes what was not synced: bytes of files and names in directories (package shadow). fsync, fdatasync,
// sync, syncfs and files opened with O_SYNC or O_DSYNC sync; sync_file_range does not, as its manual says. What cannot
// be followed is an error of the cut: a file of the directory that is mapped to be written to, io_uring and
// libaio. Not looked for are ioctls that clone files, openat2 that truncates one, and a mapping that is made
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

// Calls are the calls of a program that are stopped.
type Calls string

// Nothing is "". A disk that gets slow needs Syncs. One that gets full needs Writes, which are
// these too, and happen on sockets; one whose power is cut needs Power, which are all of these and more.
const (
	Syncs  Calls = "syncs"
	Writes Calls = "writes"
	Power  Calls = "power"
)

// More are the calls of both.
func (c Calls) More(other Calls) Calls {
	order := []Calls{"", Syncs, Writes, Power}
	return order[max(slices.Index(order, c), slices.Index(order, other))]
}

// ErrNotWatched says that the calls are not known that a power cut must know of.
var ErrNotWatched = errors.New("it was not started with a disk whose power can be cut")

// Command is what to run instead of a program, so that its calls are stopped: args are those of
// `locklab node disk`, which are for [Exec]. The file that has the number fd there is socket,
// which [Disk.Serve] is the other end of.
func Command(fd int, calls Calls, path string, args []string) []string {
	return append([]string{strconv.Itoa(fd), string(calls), path}, args...)
}

// Disk is what a node's disk does, through all its incarnations.
type Disk struct {
	dir   string // what is written elsewhere goes to another disk
	power power

	mu      sync.Mutex
	seen    damage.Seen
	changed chan struct{} // closed when another fault is set
}

// New is the disk of a program that writes below a directory, which exists, without a fault.
func New(dir string) *Disk {
	if real, err := filepath.EvalSymlinks(dir); err == nil { // as the kernel tells of files
		dir = real
	}
	return &Disk{dir: dir, changed: make(chan struct{})}
}

// Set sets the fault. Calls that the last one holds go on.
func (d *Disk) Set(wrong damage.Disk) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = damage.Seen{Disk: wrong}
	close(d.changed)
	d.changed = make(chan struct{})
}

// Seen is what the fault that is set has done.
func (d *Disk) Seen() damage.Seen {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// meet lets a call go on, or refuses it, as the fault that is set wants. One that waits for the
// disk syncs, others write, to a file of the node if below says so. send sends the answer.
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

// count counts a call that the fault has dealt with, if the kernel has taken the answer to it and
// there is no other fault by now. It holds the mutex meanwhile: Seen counts a call whose caller went on.
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
