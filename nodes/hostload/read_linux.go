package hostload

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// tick is what the kernel counts CPU time in for /proc/stat: USER_HZ is 100 everywhere.
const tick = 10_000_000 // ns

func read(pids []int) *reading {
	r := &reading{threads: map[threadID]schedstat{}}
	r.busy, r.stolen = busyTime("/proc/stat")
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
// There are hundreds, read twice a second: each in three system calls, without what os
// does for files that may block.
func readThreads(pid int, into map[threadID]schedstat) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := unix.Open(tasks, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(dir) }() // nothing was written
	var buf [4096]byte
	var names []string
	for {
		n, err := unix.ReadDirent(dir, buf[:])
		if n <= 0 || err != nil {
			break
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, ok := readSchedstat(dir, name+"/schedstat", buf[:]); ok {
			into[threadID{pid, tid}] = s
		}
	}
}

func readSchedstat(dir int, name string, buf []byte) (s schedstat, ok bool) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return s, false
	}
	n, err := unix.Read(fd, buf)
	_ = unix.Close(fd) // nothing was written
	fields := bytes.Fields(buf[:max(n, 0)])
	if err != nil || len(fields) != 3 {
		return s, false
	}
	run, err1 := strconv.ParseInt(string(fields[0]), 10, 64)
	wait, err2 := strconv.ParseInt(string(fields[1]), 10, 64)
	return schedstat{run, wait}, err1 == nil && err2 == nil
}
