package hostload

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tick is what the kernel counts CPU time in for /proc/stat: USER_HZ is 100 everywhere.
const tick = 10_000_000 // ns

func read(pids []int) *reading {
	r := &reading{busy: busyTime("/proc/stat"), threads: map[threadID]schedstat{}}
	group := controlGroup()
	r.throttled = counter(filepath.Join(group, "cpu.stat"), "throttled_usec ")
	if r.pressure = counter(filepath.Join(group, "cpu.pressure"), "total="); r.pressure == nil {
		r.pressure = counter("/proc/pressure/cpu", "total=")
	}
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
// what a hypervisor took away.
func busyTime(path string) *int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	line, _, _ := strings.Cut(string(data), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return nil
	}
	busy := int64(0)
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil
		}
		if i != 3 && i != 4 { // idle, and idle while a disk works
			busy += n * tick
		}
	}
	return &busy
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

// counter reads the number of microseconds that stands after the first such label of a
// file. nil says that there is none.
func counter(path, label string) *int64 {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	_, after, found := strings.Cut(string(data), label)
	digits, _, _ := strings.Cut(after, "\n")
	us, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if !found || err != nil {
		return nil
	}
	ns := us * 1000
	return &ns
}

// readThreads adds the threads of a process. One that has ended meanwhile has none.
func readThreads(pid int, into map[threadID]schedstat) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	entries, err := os.ReadDir(tasks)
	if err != nil {
		return
	}
	for _, entry := range entries {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(tasks, entry.Name(), "schedstat"))
		if err != nil {
			continue
		}
		if fields := strings.Fields(string(data)); len(fields) == 3 {
			run, err1 := strconv.ParseInt(fields[0], 10, 64)
			wait, err2 := strconv.ParseInt(fields[1], 10, 64)
			if err1 == nil && err2 == nil {
				into[threadID{pid, tid}] = schedstat{run, wait}
			}
		}
	}
}
