package hostload

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tick is what the kernel counts CPU time in for /proc/stat: USER_HZ is 100 everywhere.
const tick = 10_000_000 // ns

func read(pids []int) *reading {
	r := &reading{threads: map[threadID]schedstat{}}
	r.busy, r.stolen = busyTime("/proc/stat")
	r.throttled = throttledTime(filepath.Join(controlGroup(), "cpu.stat"))
	readThreads(os.Getpid(), r.threads)
	if len(r.threads) == 0 { // a kernel that does not count
		r.threads = nil
		return r
	}
	for _, pid := range pids {
		readThreads(pid, r.threads)
	}
	return r
}

// busyTime is the time that all CPUs were not idle: user, nice, system, interrupts, and
// what a hypervisor took away, which is also told apart.
func busyTime(path string) (all, stolen *int64) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return nil, nil
	}
	var busy, last int64
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, nil
		}
		last = n * tick
		if i != 3 && i != 4 { // idle, and idle while a disk works
			busy += last
		}
	}
	return &busy, &last
}

// controlGroup is the folder of this process's control group, version 2; what a
// container sees as its own.
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

// throttledTime is how long the control group was kept from CPUs by its quota; nil where it has none.
func throttledTime(path string) *int64 {
	data, _ := os.ReadFile(path) // what cannot be read has no such line
	for line := range strings.Lines(string(data)) {
		if us, ok := strings.CutPrefix(line, "throttled_usec "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(us), 10, 64)
			if err == nil {
				return new(n * 1000)
			}
		}
	}
	return nil
}

// readThreads adds the threads of a process. One that has ended meanwhile has none.
func readThreads(pid int, into map[threadID]schedstat) {
	tasks := processFile(pid, "task")
	entries, _ := os.ReadDir(tasks) // a process that has ended has none
	for _, entry := range entries {
		tid, err1 := strconv.Atoi(entry.Name())
		data, err2 := os.ReadFile(filepath.Join(tasks, entry.Name(), "schedstat"))
		fields := strings.Fields(string(data))
		if err1 != nil || err2 != nil || len(fields) != 3 {
			continue
		}
		run, err1 := strconv.ParseInt(fields[0], 10, 64)
		wait, err2 := strconv.ParseInt(fields[1], 10, 64)
		if err1 == nil && err2 == nil {
			into[threadID{pid, tid}] = schedstat{run, wait}
		}
	}
}

// UsageOf is what the process with that number uses; false if there is none. Those that
// its descendants ended and waited for are in its time (proc_pid_stat(5)).
func UsageOf(pid int) (Usage, bool) {
	u, ok := usageOf(pid)
	if !ok {
		return Usage{}, false
	}
	for _, child := range Descendants(pid) {
		if own, ok := usageOf(child); ok {
			u.CPUNS += own.CPUNS
			u.MemoryBytes += max(own.MemoryBytes-sharedOf(child), 0)
		}
	}
	return u, true
}

// Descendants are the processes that live and descend from one.
func Descendants(pid int) (all []int) {
	for left := childrenOf(pid); len(left) > 0; left = left[1:] {
		if child := left[0]; child != pid && !slices.Contains(all, child) {
			all, left = append(all, child), append(left, childrenOf(child)...)
		}
	}
	return all
}

// usageOf is without descendants that live.
func usageOf(pid int) (u Usage, ok bool) {
	data, err := os.ReadFile(processFile(pid, "stat"))
	if err != nil {
		return u, false
	}
	// pid (name) state parent ...: the name may hold anything.
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	const utime, cstime, rss = 11, 14, 21 // fields 14, 17 and 24 of the page, from state on
	if len(fields) <= rss {
		return u, false
	}
	for _, field := range fields[utime : cstime+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, false
		}
		u.CPUNS += n * tick
	}
	pages, err := strconv.ParseInt(fields[rss], 10, 64)
	u.MemoryBytes = pages * int64(os.Getpagesize())
	return u, err == nil
}

// sharedOf is what of its memory the process may share with others, in bytes.
func sharedOf(pid int) int64 {
	data, _ := os.ReadFile(processFile(pid, "statm")) // one that has ended shares nothing
	fields := strings.Fields(string(data))
	if len(fields) < 3 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[2], 10, 64) // digits
	return pages * int64(os.Getpagesize())
}

// childrenOf are those that live, of all its threads.
func childrenOf(pid int) (pids []int) {
	tasks := processFile(pid, "task")
	entries, _ := os.ReadDir(tasks) // one that has ended has none
	for _, entry := range entries {
		data, _ := os.ReadFile(filepath.Join(tasks, entry.Name(), "children"))
		for field := range strings.FieldsSeq(string(data)) {
			if child, err := strconv.Atoi(field); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

func processFile(pid int, name string) string { return filepath.Join("/proc", strconv.Itoa(pid), name) }
