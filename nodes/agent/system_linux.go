package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"locklab/internal/posix"
	"locklab/locks/clock"
	"locklab/nodes/hostload"
)

// This file is what the agent asks of Linux: system_other.go says what it does without.

// apart puts a child into a process group of its own and, unless a watchdog
// does it, has the kernel kill it when the thread that started it ends.
func apart(cmd *exec.Cmd, watchdog bool) {
	posix.OwnGroup(cmd)
	if !watchdog {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}

// What waitid says of a process (CLD_STOPPED, CLD_CONTINUED).
const (
	codeStopped   = 5
	codeContinued = 6
	codeNothing   = 0 // nothing yet
)

// stillEvery is how often a process that stands still is looked at.
const stillEvery = 10 * time.Millisecond

// awaitExit returns when the process has ended, leaving it to be reaped, so that its number and its group
// still are its own. Until then it reports each stop and each continuation. stopped returns a function that
// says whether the agent resumed the process: the kernel forgets that at the next stop.
func awaitExit(pid int, stopped func() (letGo func() bool), continued func()) {
	for waitid(pid, unix.WEXITED|unix.WSTOPPED) == codeStopped {
		letGo := stopped()
		for {
			code := waitid(pid, unix.WEXITED|unix.WCONTINUED|unix.WNOHANG)
			if code == codeContinued || code == codeNothing && letGo() {
				break
			}
			if code != codeNothing {
				return
			}
			<-clock.System().NewTimer(stillEvery).C()
		}
		continued()
	}
}

// awaitStopped returns when every thread of the process has stopped. It does not wait for ever:
// one with a call that is held stops only once that is answered.
func awaitStopped(pid int) error {
	for deadline := clock.Mono() + int64(answerTime); ; {
		switch code := waitid(pid, unix.WSTOPPED|unix.WEXITED|unix.WNOHANG); {
		case code == codeStopped:
			return nil
		case code != codeNothing:
			return errEnded
		case clock.Mono() >= deadline:
			return errStillRuns
		}
		<-clock.System().NewTimer(time.Millisecond).C()
	}
}

// kernelTells says that isStopped knows.
const kernelTells = true

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

// Servers get ports from here up to where the kernel takes those of outgoing connections, or up to the
// top where that leaves too few.
const lowestPort, highestPort, fewestPorts = 10000, 65535, 1000

// reservePort takes a port that no other server of this machine has. A socket that is bound but does not
// listen holds it until release: while nothing serves it dialers are refused, as by a dead server, and
// no other agent, in this process or in another, gets the port. The server listens beside that socket,
// which Linux allows where both have SO_REUSEADDR.
func reservePort(ip netip.Addr, random *rand.Rand) (port int, release func(), err error) {
	ip = ip.Unmap()
	end := highestPort + 1
	if first := firstEphemeral(); first >= lowestPort+fewestPorts {
		end = first
	}
	start := random.IntN(end - lowestPort) // keeps agents that look at the same time apart
	for i := range end - lowestPort {
		port = lowestPort + (start+i)%(end-lowestPort)
		var fd int
		if fd, err = bindPort(ip, port); err == nil {
			return port, func() { _ = unix.Close(fd) }, nil // frees it whatever it returns
		}
		if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EACCES) {
			break
		}
	}
	return 0, nil, fmt.Errorf("reserve a port on %s: %w", ip, err)
}

// bindPort binds a socket that children do not inherit, without listening. It fails when any other
// socket has the port, as SO_REUSEADDR, which the server sets too, comes after the bind.
func bindPort(ip netip.Addr, port int) (fd int, err error) {
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: ip.As16()})
	if ip.Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: ip.As4()}
	}
	if fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, fmt.Errorf("open socket: %w", err)
	}
	if err = unix.Bind(fd, address); err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("bind port %d: %w", port, err)
	}
	return fd, nil
}

// firstEphemeral is the first port that the kernel takes for outgoing connections.
func firstEphemeral() (first int) {
	data, _ := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if n, _ := fmt.Sscan(string(data), &first); n == 1 {
		return first
	}
	return 32768 // the kernel's default
}
