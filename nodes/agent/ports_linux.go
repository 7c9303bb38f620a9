package agent

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// listenBesideHeld: Linux lets a server with SO_REUSEADDR listen on a port that
// another socket with SO_REUSEADDR is bound to, as long as only one of them listens.
// To close ours first would not do: a child that was just forked has a copy of it,
// and on a busy machine the kernel may take its time to close that.
const listenBesideHeld = true

// ephemeralPorts is the range from which the kernel takes ports for outgoing
// connections: a server that restarts must not find its port taken by one.
func ephemeralPorts() (low, high int) {
	data, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		if n, _ := fmt.Sscan(string(data), &low, &high); n == 2 {
			return low, high
		}
	}
	return 32768, 60999 // the kernel's default
}

// tcpSocket opens a socket that children do not inherit.
func tcpSocket(family int) (int, error) {
	return unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
}
