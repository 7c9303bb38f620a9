package nowait

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const supported = true

func read(fd uintptr, b []byte) (int, error)  { return call(unix.SYS_READ, fd, b) }
func write(fd uintptr, b []byte) (int, error) { return call(unix.SYS_WRITE, fd, b) }

// call wants b not to be empty.
func call(what, fd uintptr, b []byte) (int, error) {
	for {
		n, _, err := unix.RawSyscall(what, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		switch err {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, err
		}
	}
}

func ended(fd uintptr) bool {
	var b [1]byte
	const flags = unix.MSG_PEEK | unix.MSG_DONTWAIT
	n, _, err := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), 1, flags, 0, 0)
	return n == 0 && err == 0 || err == unix.ECONNRESET
}
