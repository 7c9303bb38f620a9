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
	disk *probe   // nil if the directory is not writable
	file *os.File // written by disk

	mu   sync.Mutex
	last *reading
}

const (
	// cpuEvery is the interval of a timer. The lateness of its wake-ups shows how busy the machine is.
	// A thread that sleeps in the kernel would not do: the runtime's monitor interferes with it.
	cpuEvery = 10 * time.Millisecond
	// diskEvery is the interval at which the sampler writes and syncs a page, as a durable server does. The
	// kernel's own figures (pressure, await) are averages, but a single slow write stalls a lock.
	diskEvery = 250 * time.Millisecond
	page      = 4096 // bytes
)

// New starts to measure; pids are the lab's running processes, and dir is on their disk.
// Close ends it.
func New(pids []int, dir string) *Sampler {
	s := &Sampler{last: read(pids)}
	s.last.atNS = clock.Mono()
	s.cpu = startProbe(cpuEvery, func(due int64) int64 { return clock.Mono() - due })
	path := filepath.Join(dir, ".fsync-probe")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return s
	}
	_ = os.Remove(path) // the open file stays usable
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
			return 0 // a full disk is not slow
		}
		return clock.Mono() - began
	})
	return s
}

// Close ends the measurements, and waits for a write under way.
func (s *Sampler) Close() {
	s.cpu.close()
	if s.disk != nil {
		s.disk.close()
		_ = s.file.Close()
	}
}

// Sample returns an event, without a Host, with the measurements since the previous call.
// The lab's processes are pids and this one.
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

// reading is the machine's counters at one moment, in nanoseconds; 0 if the system has none.
type reading struct {
	atNS, busy, stolen, throttled int64
	threads                       map[threadID]schedstat
}

type threadID struct{ pid, tid int }

// schedstat is how long a thread ran, and how long it was ready but not running.
type schedstat struct{ run, wait int64 }

// since returns the difference of two readings. A thread missing from the earlier one was
// started in between.
func (r *reading) since(last *reading) *history.Machine {
	m := &history.Machine{ // max, because some counters of the kernel step back
		BusyNS: max(r.busy-last.busy, 0), StolenNS: max(r.stolen-last.stolen, 0),
		ThrottledNS: max(r.throttled-last.throttled, 0),
	}
	for id, now := range r.threads {
		before := last.threads[id]
		if now.run < before.run || now.wait < before.wait { // another thread with the same ID
			before = schedstat{}
		}
		m.RunNS += now.run - before.run
		m.WaitNS += now.wait - before.wait
	}
	return m
}

// probe repeats a measurement, and keeps the longest time.
type probe struct {
	stop, done chan struct{}

	mu      sync.Mutex
	longest int64 // since the last take
	began   int64 // start of the measurement under way; 0 if there is none
}

// startProbe starts a probe. do returns how long it took, in ns; due is on clock.Mono.
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

// take returns the longest time since the previous call, including a measurement under way.
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

// Usage is the resource usage of a process and its descendants.
type Usage struct {
	CPUNS int64 // CPU time since its start, in steps of 10 ms
	// MemoryBytes is its resident memory: shared pages count once, for the process itself.
	MemoryBytes int64
}
