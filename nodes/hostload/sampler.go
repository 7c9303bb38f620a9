package hostload

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Sampler measures from one call of Sample to the next. It is safe for concurrent use.
type Sampler struct {
	cpu  *probe
	disk *probe   // nil where nothing can be written
	file *os.File // that it writes

	mu   sync.Mutex
	last *reading
}

const (
	// cpuEvery is how often the sampler needs a CPU for an instant: how late it gets one says how busy the
	// machine is. It waits for a timer, as the runtime watches a thread that sleeps in the kernel.
	cpuEvery = 10 * time.Millisecond
	// diskEvery is how often it writes a page and waits until that is safe, as a server that keeps its promises
	// on disk does. The kernel's own figures (pressure, await) are averages; what stalls a lock is the one
	// write that takes long.
	diskEvery = 250 * time.Millisecond
	page      = 4096 // bytes
)

// New starts to measure; processes with the given numbers run already, and have their
// data on the disk of dir. Close ends it.
func New(pids []int, dir string) *Sampler {
	s := &Sampler{last: read(pids)}
	s.last.atNS = clock.Mono()
	s.cpu = startProbe(cpuEvery, func(due int64) int64 { return clock.Mono() - due })
	path := filepath.Join(dir, ".fsync-probe")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return s
	}
	_ = os.Remove(path) // the file itself lives until it is closed
	s.file = file
	data := make([]byte, page)
	s.disk = startProbe(diskEvery, func(int64) int64 {
		began := clock.Mono()
		data[0]++
		_, err := file.WriteAt(data, 0)
		if err == nil {
			err = file.Sync()
		}
		if err != nil {
			return 0 // a full disk is not a slow one
		}
		return clock.Mono() - began
	})
	return s
}

// Close ends what measures, and waits for the write under way.
func (s *Sampler) Close() {
	s.cpu.close()
	if s.disk != nil {
		s.disk.close()
		_ = s.file.Close() // it is gone with that
	}
}

// Sample is an event without a Host: what the machine did since the call before.
// Beside this process, those with the given numbers are the lab's.
func (s *Sampler) Sample(pids []int) history.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, now := s.last, read(pids)
	now.atNS = clock.Mono()
	s.last = now
	m := now.since(last)
	m.CPUs, m.LateNS = runtime.NumCPU(), s.cpu.take()
	if s.disk != nil {
		m.FsyncNS = s.disk.take()
	}
	return history.Event{Kind: history.KindMachine, FromNS: last.atNS, AtNS: now.atNS, Machine: m}
}

// reading is what the counters of the machine say at one moment. They count
// nanoseconds; those that the system does not have are 0.
type reading struct {
	atNS, busy, stolen, throttled int64
	threads                       map[threadID]schedstat
}

type threadID struct{ pid, tid int }

// schedstat is how long a thread had a CPU, and how long it was ready to run without.
type schedstat struct{ run, wait int64 }

// since is the difference of two readings. A thread that the earlier one does not have
// was started in between.
func (r *reading) since(last *reading) *history.Machine {
	m := &history.Machine{ // the kernel's counters of idle time are known to step back
		BusyNS: max(r.busy-last.busy, 0), StolenNS: max(r.stolen-last.stolen, 0),
		ThrottledNS: max(r.throttled-last.throttled, 0),
	}
	for id, now := range r.threads {
		before := last.threads[id]
		if now.run < before.run || now.wait < before.wait { // another thread by the same number
			before = schedstat{}
		}
		m.RunNS += now.run - before.run
		m.WaitNS += now.wait - before.wait
	}
	return m
}

// probe does something every so often, and keeps the longest time that it took.
type probe struct {
	stop, done chan struct{}

	mu      sync.Mutex
	longest int64 // since it was last asked
	began   int64 // of what is under way; 0 if nothing is
}

// startProbe has do say how long it took, in ns; it was due at a time on clock.Mono.
func startProbe(every time.Duration, do func(due int64) int64) *probe {
	p := &probe{stop: make(chan struct{}), done: make(chan struct{})}
	go p.run(every, do)
	return p
}

func (p *probe) run(every time.Duration, do func(due int64) int64) {
	defer close(p.done)
	for {
		due := clock.Mono() + int64(every)
		if _, stopped := clock.Await(clock.System(), every, p.stop); stopped {
			return
		}
		p.mu.Lock()
		p.began = clock.Mono()
		p.mu.Unlock()
		took := do(due)
		p.mu.Lock()
		p.began, p.longest = 0, max(p.longest, took)
		p.mu.Unlock()
	}
}

// take is the longest since it was last asked, with what still goes on.
func (p *probe) take() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	longest := p.longest
	if p.began != 0 {
		longest = max(longest, clock.Mono()-p.began)
	}
	p.longest = 0
	return longest
}

func (p *probe) close() {
	close(p.stop)
	<-p.done
}

// Usage is what a process uses, with all that descends from it.
type Usage struct {
	CPUNS int64 // time on CPUs since it began; in steps of 10 ms
	// MemoryBytes is what it has in memory now: pages that descendants share with others
	// count once, as those of the process itself.
	MemoryBytes int64
}
