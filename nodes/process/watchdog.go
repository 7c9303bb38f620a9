package process

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"syscall"

	"locklab/internal/posix"
)

// Watchdog kills the process groups that it was told of when its input ends, which
// is when its agent has died. Agents start one on systems where the kernel does
// not end children with their parent (locklab node watchdog). Input lines are
// "+ PID" when a node has started and "- PID" when it has ended.
func Watchdog(stdin io.Reader, kill func(pid int)) {
	alive := map[int]bool{}
	lines := bufio.NewScanner(stdin)
	for lines.Scan() {
		sign, number, _ := strings.Cut(lines.Text(), " ")
		pid, err := strconv.Atoi(number)
		if err != nil || pid <= 1 {
			continue // never a group that an agent has started
		}
		switch sign {
		case "+":
			alive[pid] = true
		case "-":
			delete(alive, pid)
		}
	}
	for pid := range alive {
		kill(pid)
	}
}

// KillGroup ends a process group at once. A group that is gone is no error.
func KillGroup(pid int) { _ = posix.Kill(-pid, syscall.SIGKILL) }

// WatchdogLine is what the agent writes to its watchdog.
func WatchdogLine(pid int, started bool) string {
	if started {
		return "+ " + strconv.Itoa(pid) + "\n"
	}
	return "- " + strconv.Itoa(pid) + "\n"
}
