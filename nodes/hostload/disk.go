package hostload

import (
	"os"
	"path/filepath"
	"sync"
	"time"

	"locklab/locks/clock"
)

// diskProbe writes a page four times a second and waits until it is safe, as a server
// that keeps its promises on disk does. The kernel's own figures (pressure, await) are
// averages; what stalls a lock is the one write that takes long.
type diskProbe struct {
	file       *os.File
	stop, done chan struct{}

	mu      sync.Mutex
	longest int64 // of those that ended since it was last asked
	began   int64 // of the write under way; 0 if none is
}

const (
	diskEvery = 250 * time.Millisecond
	page      = 4096 // bytes
)

// startDiskProbe has no probe, nil, where no file can be written.
func startDiskProbe(dir string) *diskProbe {
	path := filepath.Join(dir, ".fsync-probe")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	_ = os.Remove(path) // the file itself lives until it is closed
	d := &diskProbe{file: file, stop: make(chan struct{}), done: make(chan struct{})}
	go d.run()
	return d
}

func (d *diskProbe) run() {
	defer close(d.done)
	timer := clock.System().NewTimer(diskEvery)
	defer timer.Stop()
	data := make([]byte, page)
	for {
		began := clock.Mono()
		d.mu.Lock()
		d.began = began
		d.mu.Unlock()
		data[0]++
		_, err := d.file.WriteAt(data, 0)
		if err == nil {
			err = d.file.Sync()
		}
		took := clock.Mono() - began
		d.mu.Lock()
		if d.began = 0; err == nil { // a full disk is not a slow one
			d.longest = max(d.longest, took)
		}
		d.mu.Unlock()
		timer.Reset(diskEvery)
		select {
		case <-d.stop:
			return
		case <-timer.C():
		}
	}
}

// take is the longest write since it was last asked, with the one that still goes on.
func (d *diskProbe) take() *int64 {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	longest := d.longest
	if d.began != 0 {
		longest = max(longest, clock.Mono()-d.began)
	}
	d.longest = 0
	return &longest
}

// close waits for the write under way.
func (d *diskProbe) close() {
	if d == nil {
		return
	}
	close(d.stop)
	<-d.done
	_ = d.file.Close()
}
