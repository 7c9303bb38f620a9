//go:build unix

package mesh

import (
	"errors"
	"syscall"
)

// writeNow writes as much of b as the socket takes without blocking.
func (l *Link) writeNow(b []byte) (sent int, err error) {
	if l.raw == nil {
		return 0, nil
	}
	l.buf, l.sent, l.err = b, 0, nil
	if err := l.raw.Write(l.try); err != nil {
		return 0, err
	}
	return l.sent, l.err
}

// tryWrite always says that it is done: waiting for a socket that is full is the
// writer's work.
func (l *Link) tryWrite(fd uintptr) bool {
	for l.sent < len(l.buf) {
		n, err := syscall.Write(int(fd), l.buf[l.sent:])
		switch {
		case n > 0:
			l.sent += n
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return true
		default:
			l.err = err
			return true
		}
	}
	return true
}
