package hostload

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

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
