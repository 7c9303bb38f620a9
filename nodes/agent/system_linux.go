package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"locklab/locks/clock"
	"locklab/nodes/hostload"
)

// This file is what the agent asks of Linux: system_other.go says what it does without.

// What waitid says of a process (CLD_STOPPED).
const (
	codeStopped = 5
	codeNothing = 0 // nothing yet
)

// awaitExit returns when the process has ended, leaving it to be reaped, so that its number and its group
// still are its own. Until then it reports again and again that the process stands still.
func awaitExit(cmd *exec.Cmd, stopped func()) {
	for waitid(cmd.Process.Pid, unix.WEXITED|unix.WSTOPPED) == codeStopped {
		stopped()
		over, _ := clock.After(clock.System(), 10*time.Millisecond)
		<-over
	}
}

// awaitStopped returns when every thread of the process has stopped, and all processes that descend from it.
// It does not wait for ever: one with a call that is held stops only once that is answered.
func awaitStopped(pid int) error {
	for deadline := clock.Mono() + int64(answerTime); ; {
		switch code := waitid(pid, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG); {
		case code == codeStopped && !slices.ContainsFunc(hostload.Descendants(pid), runs):
			return nil
		case code != codeNothing && code != codeStopped:
			return errEnded
		case clock.Mono() >= deadline:
			return errStillRuns
		}
		over, _ := clock.After(clock.System(), time.Millisecond)
		<-over
	}
}

// runs says whether a process neither stands still nor has ended.
func runs(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // one that is gone has none
	_, state, found := bytes.Cut(stat, []byte(") "))
	return found && !bytes.ContainsAny(state[:1], "TtZX")
}

// isStopped says whether the process stands still now.
func isStopped(pid int) bool { return waitid(pid, unix.WSTOPPED|unix.WNOHANG) == codeStopped }

func waitid(pid, what int) (code int32) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, what|unix.WNOWAIT, nil)
		if err == nil {
			return info.Code
		}
		if !errors.Is(err, unix.EINTR) {
			return -1
		}
	}
}

// strays are the descendants of a process that are not in its process group.
func strays(of int) []int {
	return slices.DeleteFunc(hostload.Descendants(of), func(pid int) bool {
		group, err := unix.Getpgid(pid)
		return err != nil || group == of
	})
}

// reservePort takes a port that no other program of this machine has. A socket that is bound but does not
// listen holds it until it is closed: while no server listens dialers are refused, as by a dead server, and
// neither another agent nor an outgoing connection gets the port. The server listens beside that socket,
// which Linux allows where both have SO_REUSEADDR; it comes after the bind, which no other socket may share.
func reservePort(ip netip.Addr) (port int, held io.Closer, err error) {
	ip = ip.Unmap()
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Addr: ip.As16()})
	if ip.Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Addr: ip.As4()}
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port on %s: open socket: %w", ip, err)
	}
	file := os.NewFile(uintptr(fd), "port") //nolint:gosec // a small number
	if err = unix.Bind(fd, address); err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err == nil {
		address, err = unix.Getsockname(fd)
	}
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port on %s: %w", ip, errors.Join(err, file.Close()))
	}
	switch bound := address.(type) {
	case *unix.SockaddrInet4:
		port = bound.Port
	case *unix.SockaddrInet6:
		port = bound.Port
	}
	return port, file, nil
}
