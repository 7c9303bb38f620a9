//go:build !linux

package agent

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"
)

// awaitExit has nothing to wait with here that leaves the process to be reaped, or tells when it is stopped.
func awaitExit(cmd *exec.Cmd, _ func()) { _ = cmd.Wait() }

// isStopped does not know: that a resume had its effect is not proven here.
func isStopped(int) bool { return false }

// awaitStopped trusts that a stop signal that was sent takes effect at once.
func awaitStopped(int) error { return nil }

// strays are not looked for here: only the process group is signaled.
func strays(int) []int { return nil }

// reservePort finds a port that is free now. Nothing here holds it: no server listens beside another
// socket that has its port.
func reservePort(ip netip.Addr) (port int, held io.Closer, err error) {
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a port on %s: %w", ip, err)
	}
	return l.Addr().(*net.TCPAddr).Port, io.NopCloser(nil), l.Close()
}
