package diskfault

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Missing says why this machine cannot have disk faults, nil if it can.
func Missing() error {
	tried := make(chan error)
	go func() { // tries to install a filter that stops no call
		runtime.LockOSThread() // never unlocked, so that the thread ends, and its filter
		listener, err := install(filter(nil))
		if err == nil {
			err = unix.Close(listener)
		}
		tried <- err
	}()
	if err := <-tried; err != nil {
		return fmt.Errorf("this system does not let a program's calls be watched: %w: "+
			"want Linux 5.5 or newer, where no container's runtime forbids that", err)
	}
	return nil
}

// stop is a call that the filter stops, if all of these bits of its arguments are set.
type stop struct {
	number uint32
	bits   []bit
}

type bit struct{ argument, mask uint32 }

// all returns stops without conditions.
func all(numbers ...uint32) (stops []stop) {
	for _, n := range numbers {
		stops = append(stops, stop{number: n})
	}
	return stops
}

// syncs returns the calls that wait for a disk.
func syncs() []uint32 { return []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE} }

// positioned returns the calls that write only to files.
func positioned() []uint32 {
	return []uint32{unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_FALLOCATE}
}

// writes returns the calls that write to anything.
func writes() []uint32 { return []uint32{unix.SYS_WRITE, unix.SYS_WRITEV} }

// copies returns the calls that copy between files, and cuts those that change a file's size.
func copies() []uint32 { return []uint32{unix.SYS_SENDFILE, unix.SYS_COPY_FILE_RANGE, unix.SYS_SPLICE} }
func cuts() []uint32   { return []uint32{unix.SYS_FTRUNCATE, unix.SYS_TRUNCATE} }

// rings returns the calls that set up asynchronous writes.
func rings() []uint32 { return []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_SETUP} }

// open and creat are calls that only amd64 has.
const open, creat = 2, 85

func (c Calls) stops() ([]stop, error) {
	changes := slices.Concat(syncs(), positioned(), writes())
	switch c {
	case Syncs:
		return all(syncs()...), nil
	case Writes:
		return all(changes...), nil
	case Power:
		stops := append(all(slices.Concat(changes, copies(), cuts(), rings(), []uint32{unix.SYS_SYNC, unix.SYS_SYNCFS})...),
			stop{unix.SYS_OPENAT, []bit{{2, unix.O_TRUNC}}},
			stop{unix.SYS_MMAP, []bit{{2, unix.PROT_WRITE}, {3, unix.MAP_SHARED}}})
		if runtime.GOARCH == "amd64" {
			stops = append(stops, stop{open, []bit{{1, unix.O_TRUNC}}}, stop{number: creat})
		}
		return stops, nil
	}
	return nil, fmt.Errorf("calls %q: want %s, %s or %s", string(c), Syncs, Writes, Power)
}

// filter returns a program that stops these calls and allows all others.
func filter(stops []stop) []unix.SockFilter {
	const numberAt, argumentsAt, argumentSize = 0, 16, 8 // in struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	pass := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	program := []unix.SockFilter{load(numberAt)}
	for _, s := range stops {
		var then []unix.SockFilter
		for _, b := range s.bits {
			has := unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: b.mask, Jt: 1}
			then = append(then, load(argumentsAt+argumentSize*b.argument), has, pass)
		}
		then = append(then, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
		program = append(program, unix.SockFilter{
			Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: s.number, Jf: uint8(len(then)), //nolint:gosec // few bits
		})
		program = append(program, then...)
	}
	return append(program, pass)
}

// Exec replaces this process by a program whose calls are watched; args come from [Command].
// It returns only an error.
func Exec(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("want a file descriptor, calls and a program, have %q", args)
	}
	socket, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("file descriptor: %w", err)
	}
	calls, err := Calls(args[1]).stops()
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[2])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter belongs to the thread, and survives exec
	defer runtime.UnlockOSThread()
	if err := hand(socket, filter(calls)); err != nil {
		return err
	}
	return syscall.Exec(path, args[2:], os.Environ()) //nolint:gosec // the agent chose the program
}

// hand installs the filter on this thread and sends its listener through the socket.
func hand(socket int, program []unix.SockFilter) error {
	unix.CloseOnExec(socket)
	listener, err := install(program)
	if err != nil {
		return err
	}
	if err := unix.Sendmsg(socket, []byte{0}, unix.UnixRights(listener), nil, 0); err != nil {
		return fmt.Errorf("hand the listener to the agent: %w", err)
	}
	unix.CloseOnExec(listener)
	return nil
}

// install installs the filter on this thread.
func install(program []unix.SockFilter) (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up new privileges: %w", err)
	}
	code := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // few calls
	set := func(flags uintptr) (fd uintptr, errno unix.Errno) {
		at := uintptr(unsafe.Pointer(&code)) //nolint:gosec // seccomp(2) takes a pointer
		fd, _, errno = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, at)
		return fd, errno
	}
	// On kernels that can, signals do not restart a call that waits for its answer.
	fd, errno := set(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errno == unix.EINVAL {
		fd, errno = set(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	if errno != 0 {
		return 0, fmt.Errorf("install a seccomp filter with a listener: %w", errno)
	}
	return int(fd), nil //nolint:gosec // a small number
}

// Sockets are the two ends that a listener is handed over through: the program's and the
// agent's.
func Sockets() (given, kept *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "disk"), os.NewFile(uintptr(pair[1]), "disk"), nil //nolint:gosec // small numbers
}
