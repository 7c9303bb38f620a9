package hostload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// tick is the kernel's unit of the CPU time of processes: USER_HZ is 100 everywhere.
const tick = 10_000_000 // ns

func read(pids []int) *reading {
	r := &reading{threads: map[threadID]schedstat{}}
	if proc, err := procfs.NewDefaultFS(); err == nil {
		if stat, err := proc.Stat(); err == nil {
			c := stat.CPUTotal
			r.busy, r.stolen = int64((c.User+c.Nice+c.System+c.IRQ+c.SoftIRQ+c.Steal)*1e9), int64(c.Steal*1e9)
		}
	}
	r.throttled = throttledTime(filepath.Join(controlGroup(), "cpu.stat"))
	for _, pid := range append(slices.Clone(pids), os.Getpid()) {
		readThreads(pid, r.threads)
	}
	return r
}

// controlGroup returns the directory of this process's control group (version 2).
func controlGroup() string {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join("/sys/fs/cgroup", path)
		}
	}
	return ""
}

// throttledTime returns how long the quota of the control group throttled it; 0 if it has none.
func throttledTime(path string) int64 {
	data, _ := os.ReadFile(path)
	for line := range strings.Lines(string(data)) {
		if us, ok := strings.CutPrefix(line, "throttled_usec "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(us), 10, 64) // digits
			return n * 1000
		}
	}
	return 0
}

// readThreads adds the threads of a process; none if it has ended.
func readThreads(pid int, into map[threadID]schedstat) {
	threads, _ := procfs.AllThreads(pid)
	for _, t := range threads {
		if s, err := t.Schedstat(); err == nil {
			into[threadID{pid, t.PID}] = schedstat{int64(s.RunningNanoseconds), int64(s.WaitingNanoseconds)}
		}
	}
}

// UsageOf returns the usage of a process and its descendants; false if it does not exist. CPU time
// includes ended descendants that were waited for (proc_pid_stat(5)).
func UsageOf(pid int) (Usage, bool) {
	u, _, ok := usageOf(pid)
	if !ok {
		return Usage{}, false
	}
	for _, child := range Descendants(pid) {
		if own, shared, ok := usageOf(child); ok {
			u.CPUNS += own.CPUNS
			u.MemoryBytes += max(own.MemoryBytes-shared, 0)
		}
	}
	return u, true
}

// Descendants returns the live descendants of a process.
func Descendants(pid int) (all []int) {
	for left := childrenOf(pid); len(left) > 0; left = left[1:] {
		if child := left[0]; child != pid && !slices.Contains(all, child) {
			all, left = append(all, child), append(left, childrenOf(child)...)
		}
	}
	return all
}

// usageOf returns the usage of a process without its live descendants, and how many bytes of its memory may be shared.
func usageOf(pid int) (u Usage, shared int64, ok bool) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return u, 0, false
	}
	stat, err1 := p.Stat()
	memory, err2 := p.Statm()
	u.CPUNS = (int64(stat.UTime+stat.STime) + int64(stat.CUTime+stat.CSTime)) * tick //nolint:gosec // times
	u.MemoryBytes = int64(stat.ResidentMemory())
	return u, int64(memory.Shared) * int64(os.Getpagesize()), errors.Join(err1, err2) == nil //nolint:gosec // pages
}

// childrenOf returns the live children of all threads of a process.
func childrenOf(pid int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // none if it has ended
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(data)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
