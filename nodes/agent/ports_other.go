//go:build unix && !linux

package agent

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ephemeralPorts is the range from which systems other than Linux take ports for
// outgoing connections.
func ephemeralPorts() (low, high int) { return 49152, 65535 }

// listenBesideHeld: BSD refuses a second socket on the same port.
const listenBesideHeld = false

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
