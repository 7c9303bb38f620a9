//go:build unix && !linux

package agent

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sysProcAttr puts a child into a process group of its own. The watchdog sees to
// it that it does not survive the agent.
func sysProcAttr(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitExit has nothing to wait with here that leaves the process to be reaped, or that
// tells when it is stopped.
func awaitExit(int, func() func() bool, func()) {}

// kernelTells says that here only what the agent was asked to do is known: that a pause
// or a resume had its effect is not proven.
const kernelTells = false

func isStopped(int) bool { return false }

// awaitStopped trusts that a stop signal that was sent takes effect at once.
func awaitStopped(int) error { return nil }

// tcpSocket opens a socket that children do not inherit, but for a moment.
func tcpSocket(family int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	return fd, err
}
