package diskfault

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"locklab/internal/signals"
)

// notice is struct seccomp_notif, and reply struct seccomp_notif_resp.
type (
	notice struct {
		id         uint64
		pid, flags uint32
		number     int32
		machine    uint32
		at         uint64
		args       [6]uint64
	}
	reply struct {
		id    uint64
		value int64
		error int32
		flags uint32
	}
)

// Serve answers the calls of one incarnation of a node until its last process has ended, or
// gone is closed; then it closes the socket.
func (d *Disk) Serve(socket *os.File, gone <-chan struct{}) error {
	err := d.serve(socket, gone)
	if errors.Is(err, io.EOF) || signals.Closed(gone) { // after gone, reads of closed files fail
		return nil
	}
	return fmt.Errorf("watch the calls of a node: %w", err)
}

func (d *Disk) serve(socket *os.File, gone <-chan struct{}) error {
	served := make(chan struct{})
	defer close(served)
	end := func(f io.Closer) {
		select {
		case <-gone:
		case <-served:
		}
		_ = f.Close() // no data can be lost
	}
	conn, err := net.FileConn(socket)
	_ = socket.Close() // conn is a copy
	if err != nil {
		return err
	}
	go end(conn)
	listener, err := receive(conn.(*net.UnixConn))
	if err != nil {
		return err
	}
	go end(listener)
	calls, err := listener.SyscallConn()
	for err == nil {
		var n notice
		if n, err = next(calls); err == nil {
			d.note(n)
			d.answer(calls, n)
		}
	}
	return err
}

// receive reads the listener from the socket. It returns io.EOF if the program ended without one.
func receive(conn *net.UnixConn) (*os.File, error) {
	rights := make([]byte, unix.CmsgSpace(4))
	_, length, _, _, err := conn.ReadMsgUnix(make([]byte, 1), rights)
	if err != nil {
		return nil, err
	}
	if length == 0 {
		return nil, io.EOF
	}
	messages, err := unix.ParseSocketControlMessage(rights[:length])
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that waiting needs no thread
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil //nolint:gosec // a small number
}

// next waits for a call.
func next(conn syscall.RawConn) (n notice, err error) {
	var failed error
	err = conn.Read(func(fd uintptr) (done bool) {
		n, done, failed = tryNext(fd)
		return done
	})
	return n, errors.Join(err, failed)
}

// tryNext receives a call, if one is pending. It polls first, because a receive would block even on a
// nonblocking listener. It tries until none is pending, because one wake-up may stand for several calls.
func tryNext(fd uintptr) (n notice, done bool, err error) {
	for {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} //nolint:gosec // a small number
		_, err := unix.Poll(ready, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return n, true, err
		case ready[0].Revents == 0:
			return n, false, nil
		case ready[0].Revents&unix.POLLIN == 0:
			return n, true, io.EOF // all processes have ended
		}
		n = notice{}
		err = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)) //nolint:gosec // ioctl(2) takes a pointer
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EINTR) {   // these: the caller ended or got a signal
			return n, true, err
		}
	}
}

func ioctl(fd, request uintptr, to unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(to)); errno != 0 {
		return errno
	}
	return nil
}

// answer lets a call go on, at once or after the delay, or refuses it.
func (d *Disk) answer(conn syscall.RawConn, n notice) {
	number := uint32(n.number) //nolint:gosec // positive in the filter
	send := func(refuse bool) bool {
		r := reply{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if refuse {
			r.flags, r.error = 0, -int32(unix.ENOSPC)
		}
		var gone error // set if the caller has ended or got a signal
		err := conn.Control(func(fd uintptr) {
			gone = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) //nolint:gosec // ioctl(2) takes a pointer
		})
		return errors.Join(err, gone) == nil
	}
	d.meet(slices.Contains(syncs(), number), func() bool {
		return slices.Contains(slices.Concat(positioned(), writes()), number) && d.below(n, number)
	}, send)
}

// below reports whether a call writes to a file below the directory. If the files of another user's
// process are not readable, it is true for calls that write only to files.
func (d *Disk) below(n notice, number uint32) bool {
	fd := int(int32(n.args[0])) //nolint:gosec // a file descriptor is an int
	file, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(int(n.pid)), "fd", strconv.Itoa(fd)))
	if err != nil {
		return slices.Contains(positioned(), number)
	}
	return strings.HasPrefix(file, d.dir+string(filepath.Separator))
}
