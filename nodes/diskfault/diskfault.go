package diskfault

import (
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"locklab/locks/clock"
)

// ErrUnavailable says that calls cannot be stopped here.
var ErrUnavailable = errors.New("diskfault: this system does not let a program's calls be watched")

// Calls are the calls of a program that are stopped.
type Calls string

// Nothing is "". A disk that gets slow needs Syncs. One that gets full needs Writes, which are
// these too, and happen on sockets.
const (
	Syncs  Calls = "syncs"
	Writes Calls = "writes"
)

// Command is what to run instead of a program, so that its calls are stopped: args are those of
// `locklab node disk`, which are for [Exec]. The file that has the number fd there is socket,
// which [Disk.Serve] is the other end of.
func Command(fd int, calls Calls, path string, args []string) []string {
	return append([]string{strconv.Itoa(fd), string(calls), path}, args...)
}

// Fault is what is wrong with a disk; nothing is the zero value.
type Fault struct {
	Delay time.Duration // that each sync takes longer
	Full  bool          // nothing can be written
}

// Seen is what a fault has done since it was set.
type Seen struct {
	Fault
	// Hit are the calls that it met, and Done those of them that were held for the whole
	// delay, or refused, and waited for it: who was killed, or got a signal, has not. Those
	// that were met when it ended are not done.
	Hit, Done uint64
	// Least is the shortest time from such a call to its answer.
	Least time.Duration
}

// Disk is what a node's disk does, through all its incarnations.
type Disk struct {
	dir string // what is written elsewhere goes to another disk

	mu      sync.Mutex
	seen    Seen
	changed chan struct{} // closed when another fault is set
}

// New is the disk of who writes below a directory, which exists, without a fault.
func New(dir string) *Disk {
	if real, err := filepath.EvalSymlinks(dir); err == nil { // as the kernel tells of files
		dir = real
	}
	return &Disk{dir: dir, changed: make(chan struct{})}
}

// Set sets the fault. Calls that the last one holds go on.
func (d *Disk) Set(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen = Seen{Fault: f}
	close(d.changed)
	d.changed = make(chan struct{})
}

// Seen is what the fault that is set has done.
func (d *Disk) Seen() Seen {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.seen
}

// call is one that was stopped.
type call struct {
	sync  bool        // it syncs, others write
	below func() bool // whether it is about a file below the directory
}

// fate is what a fault makes of a call.
type fate struct {
	refused bool
	held    func() // if set, returns when the call may go on
	// If set, send is to be called by it: it counts what the kernel has taken the answer to.
	done func(send func() (taken bool))
}

func (d *Disk) meet(c call) fate {
	d.mu.Lock()
	defer d.mu.Unlock()
	delay, changed, since := d.seen.Delay, d.changed, clock.Mono()
	done := func(send func() bool) { d.count(changed, since, send) }
	switch {
	case c.sync && delay > 0:
		d.seen.Hit++
		return fate{held: func() { hold(delay, changed) }, done: done}
	case !c.sync && d.seen.Full && c.below():
		d.seen.Hit++
		return fate{refused: true, done: done}
	default:
		return fate{}
	}
}

// hold returns when the delay is over, or another fault is set.
func hold(delay time.Duration, changed <-chan struct{}) {
	clock.Await(clock.System(), delay, changed)
}

// count counts a call that the fault has dealt with, unless there is another fault by now. Who
// called goes on while this is done, so that who looks after that sees it.
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
