package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// strays are the descendants of a process that are not in its process group.
func strays(of int) (pids []int) {
	type process struct{ pid, parent, group int }
	var all []process
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state parent group ...: the name may hold anything.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, err1 := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err1 != nil || len(fields) < 3 {
			continue
		}
		parent, _ := strconv.Atoi(fields[1]) // digits
		group, _ := strconv.Atoi(fields[2])
		all = append(all, process{pid, parent, group})
	}
	family := map[int]bool{of: true}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if family[p.parent] && !family[p.pid] {
				family[p.pid], grown = true, true
				if p.group != of {
					pids = append(pids, p.pid)
				}
			}
		}
	}
	return pids
}
