//go:build !linux

package agent

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
)

// awaitExit reaps the process, and never reports that it is stopped.
func awaitExit(cmd *exec.Cmd, _ func()) { _ = cmd.Wait() }

// isStopped does not know; so a resume is not confirmed.
func isStopped(int) bool { return false }

// awaitStopped assumes that a stop signal takes effect at once.
func awaitStopped(int) error { return nil }

// strays finds none: only the process group is signaled.
func strays(int) []int { return nil }

// reservePort finds a port that is free now, but does not hold it: a server could not listen on
// a port that another socket has.
func reservePort(ip netip.Addr) (port int, held io.Closer, err error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port on %s: %w", ip, err)
	}
	return l.Addr().(*net.TCPAddr).Port, io.NopCloser(nil), l.Close()
}
