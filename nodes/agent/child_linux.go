package agent

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// sysProcAttr puts a child into a process group of its own and, unless a watchdog
// does it, has the kernel kill it when the thread that started it ends.
func sysProcAttr(watchdog bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if !watchdog {
		attr.Pdeathsig = syscall.SIGKILL
	}
	return attr
}

// What waitid says of a process (CLD_STOPPED, CLD_CONTINUED).
const (
	codeStopped   = 5
	codeContinued = 6
)

// awaitExit returns when the process has ended, leaving it to be reaped, so that
// its number and its group still are its own. Until then it says when the process was
// stopped and when it went on, by whoever's hand.
func awaitExit(pid int, stopped, continued func()) {
	for waitid(pid, unix.WEXITED|unix.WSTOPPED) == codeStopped {
		stopped()
		if waitid(pid, unix.WEXITED|unix.WCONTINUED) != codeContinued {
			return
		}
		continued()
	}
}

// awaitStopped returns when every thread of the process has stopped, or with false
// when it ended.
func awaitStopped(pid int) bool {
	return waitid(pid, unix.WSTOPPED|unix.WEXITED) == codeStopped
}

// kernelTells says that isStopped knows.
const kernelTells = true

// isStopped says whether the process stands still now.
func isStopped(pid int) bool { return waitid(pid, unix.WSTOPPED|unix.WNOHANG) == codeStopped }

func waitid(pid, what int) (code int32) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, what|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return info.Code
		}
	}
}

// tcpSocket opens a socket that children do not inherit.
func tcpSocket(family int) (int, error) {
	return unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}
