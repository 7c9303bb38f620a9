package hostload

import (
	"runtime"
	"sync"
	"time"

	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Sampler measures from one call of Sample to the next. It is safe for concurrent use.
type Sampler struct {
	probe *probe
	disk  *diskProbe // nil where nothing can be written

	mu   sync.Mutex
	last *reading
}

// New starts to measure; processes with the given numbers run already, and have their
// data on the disk of dir. Close ends it.
func New(pids []int, dir string) *Sampler {
	s := &Sampler{probe: startProbe(), disk: startDiskProbe(dir)}
	s.last = read(pids)
	s.last.atNS = clock.Mono()
	return s
}

// Close ends what measures late wake-ups and slow writes.
func (s *Sampler) Close() {
	s.probe.close()
	s.disk.close()
}

// Sample is an event without a Host: what the machine did since the call before.
// Beside this process, those with the given numbers are the lab's.
func (s *Sampler) Sample(pids []int) history.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := read(pids)
	now.atNS, now.lateNS, now.fsync = clock.Mono(), s.probe.take(), s.disk.take()
	last := s.last
	s.last = now
	return history.Event{Kind: history.KindMachine, FromNS: last.atNS, AtNS: now.atNS, Machine: now.since(last)}
}

// reading is what the counters of the machine say at one moment. They count
// nanoseconds; those that the system does not have are nil.
type reading struct {
	atNS                              int64
	busy, stolen, pressure, throttled *int64
	threads                           map[threadID]schedstat // nil where threads are not counted
	lateNS                            int64                  // since the reading before
	fsync                             *int64                 // the same
}

type threadID struct{ pid, tid int }

// schedstat is how long a thread had a CPU, and how long it was ready to run without.
type schedstat struct{ run, wait int64 }

// since is the difference of two readings. A thread that the earlier one does not have
// was started in between.
func (r *reading) since(last *reading) *history.Machine {
	m := &history.Machine{
		CPUs: runtime.NumCPU(), LateNS: r.lateNS, FsyncNS: r.fsync,
		BusyNS: grown(last.busy, r.busy), StolenNS: grown(last.stolen, r.stolen), PressureNS: grown(last.pressure, r.pressure), ThrottledNS: grown(last.throttled, r.throttled),
	}
	if r.threads == nil {
		return m
	}
	m.RunNS, m.WaitNS = new(int64), new(int64)
	for id, now := range r.threads {
		before := last.threads[id]
		if now.run < before.run || now.wait < before.wait { // another thread by the same number
			before = schedstat{}
		}
		*m.RunNS += now.run - before.run
		*m.WaitNS += now.wait - before.wait
	}
	return m
}

func grown(from, to *int64) *int64 {
	if from == nil || to == nil {
		return nil
	}
	d := max(*to-*from, 0) // the kernel's counters of idle time are known to step back
	return &d
}

// probe asks for a CPU a hundred times a second and needs it for an instant: how late it gets one says how
// busy the machine is. It waits for a timer, as the runtime watches a thread that sleeps in the kernel.
type probe struct {
	stop, done chan struct{}

	mu   sync.Mutex
	late int64 // the longest since it was last asked
}

const probeEvery = 10 * time.Millisecond

func startProbe() *probe {
	p := &probe{stop: make(chan struct{}), done: make(chan struct{})}
	go p.run()
	return p
}

func (p *probe) run() {
	defer close(p.done)
	timer := clock.System().NewTimer(probeEvery)
	defer timer.Stop()
	for due := clock.Mono() + int64(probeEvery); ; due = clock.Mono() + int64(probeEvery) {
		timer.Reset(probeEvery)
		select {
		case <-p.stop:
			return
		case <-timer.C():
		}
		late := clock.Mono() - due
		p.mu.Lock()
		p.late = max(p.late, late)
		p.mu.Unlock()
	}
}

func (p *probe) take() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	late := p.late
	p.late = 0
	return late
}

func (p *probe) close() {
	close(p.stop)
	<-p.done
}
