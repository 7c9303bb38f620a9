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

// This file has the agent's system calls on Linux; system_other.go has their substitutes.

// Codes of waitid (CLD_STOPPED).
const (
	codeStopped = 5
	codeNothing = 0 // no change
)

// awaitExit returns when the process has ended. It does not reap it, so its ID and group are not reused yet.
// Until then it calls stopped every 10 ms while the process is stopped.
func awaitExit(cmd *exec.Cmd, stopped func()) {
	for waitid(cmd.Process.Pid, unix.WEXITED|unix.WSTOPPED) == codeStopped {
		stopped()
		over, _ := clock.After(clock.System(), 10*time.Millisecond)
		<-over
	}
}

// awaitStopped returns when every thread of the process and of its descendants has stopped. It has a time
// limit: a process with a held call stops only after the answer.
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

// runs reports whether a process is neither stopped nor ended.
func runs(pid int) bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)) // missing if it has ended
	_, state, found := bytes.Cut(stat, []byte(") "))
	return found && !bytes.ContainsAny(state[:1], "TtZX")
}

// isStopped reports whether the process is stopped.
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

// strays returns the descendants of a process outside its process group.
func strays(of int) []int {
	return slices.DeleteFunc(hostload.Descendants(of), func(pid int) bool {
		group, err := unix.Getpgid(pid)
		return err != nil || group == of
	})
}

// reservePort reserves a port with a socket that is bound but does not listen. Until the socket is closed, no
// other agent or outgoing connection gets the port, and dialers are refused while no server listens. The server
// binds the same port, which Linux allows if both sockets have SO_REUSEADDR. The option is set after the bind,
// so that the port is not shared with an earlier socket.
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
