//go:build !linux

package agent

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os/exec"

	"locklab/internal/posix"
)

// apart puts a child into a process group of its own. It ends with its agent because its standard input does.
func apart(cmd *exec.Cmd) { posix.OwnGroup(cmd) }

// awaitExit has nothing to wait with here that leaves the process to be reaped, or that
// tells when it is stopped.
func awaitExit(cmd *exec.Cmd, _ func() func() bool, _ func()) { _ = cmd.Wait() }

// kernelTells says that here only what the agent was asked to do is known: that a pause
// or a resume had its effect is not proven.
const kernelTells = false

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
