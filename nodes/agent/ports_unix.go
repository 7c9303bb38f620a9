//go:build unix

package agent

import (
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// bindPort binds without listening. Without reuse it fails when any socket has the
// port, also one that does not listen.
func bindPort(ip netip.Addr, port int, reuse bool) (int, error) {
	ip = ip.Unmap()
	family, address := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: port, Addr: ip.As16()})
	if ip.Is4() {
		family, address = unix.AF_INET, &unix.SockaddrInet4{Port: port, Addr: ip.As4()}
	}
	fd, err := tcpSocket(family)
	if err != nil {
		return -1, fmt.Errorf("open socket: %w", err)
	}
	if reuse {
		err = reuseAddr(fd)
	}
	if err == nil {
		err = unix.Bind(fd, address)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, fmt.Errorf("bind port %d: %w", port, err)
	}
	return fd, nil
}

func reuseAddr(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) }

func closeSocket(fd int) error { return unix.Close(fd) }
