package mesh

import "golang.org/x/sys/unix"

// unread says that the socket holds bytes which the reader has not come to yet: then
// it is this process that is slow, not the peer that is silent.
func (l *Link) unread() bool {
	if l.raw == nil {
		return false
	}
	waiting := 0
	err := l.raw.Control(func(fd uintptr) {
		if n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
			waiting = n
		}
	})
	return err == nil && waiting > 0
}
