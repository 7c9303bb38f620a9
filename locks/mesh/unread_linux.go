package mesh

import "golang.org/x/sys/unix"

// unread is how many bytes the socket holds that the reader has not come to yet.
func (l *Link) unread() (bytes int) {
	if l.raw == nil {
		return 0
	}
	err := l.raw.Control(func(fd uintptr) {
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			bytes = n
		}
	})
	if err != nil { // the connection was closed
		return 0
	}
	return bytes
}

// sleepThroughHeartbeats lets the kernel wake the reader only for lowWater bytes.
// Without it all would work, with a wake-up for every heartbeat of every peer: most of
// what an idle mesh of many costs.
func (l *Link) sleepThroughHeartbeats() {
	_ = l.raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, lowWater) })
}
