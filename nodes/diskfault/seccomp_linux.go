package diskfault

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Missing says why disks cannot be made slow or full on this machine, nil if they can.
func Missing() error {
	actions, err := os.ReadFile("/proc/sys/kernel/seccomp/actions_avail")
	if err != nil || !slices.Contains(strings.Fields(string(actions)), "user_notif") {
		return fmt.Errorf("want Linux 5.5 or newer with seccomp's user_notif: %w", ErrUnavailable)
	}
	if machine() == 0 {
		return fmt.Errorf("want a processor of amd64 or arm64: %w", ErrUnavailable)
	}
	if err := try(); err != nil {
		return fmt.Errorf("%w, which a container's runtime may forbid: %w", err, ErrUnavailable)
	}
	return nil
}

// try puts a filter that stops nothing on a thread of its own, which ends with it.
func try() error {
	tried := make(chan error)
	go func() {
		runtime.LockOSThread() // and no unlocking: so the thread ends
		listener, err := install(filter(nil))
		if err == nil {
			err = unix.Close(listener)
		}
		tried <- err
	}()
	return <-tried
}

// machine is this processor as filters know it; 0 if it is none of those.
func machine() uint32 {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	}
	return 0
}

// syncs are the calls that wait for a disk.
func syncs() []uint32 { return []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNC_FILE_RANGE} }

// positioned are the calls that write to files alone.
func positioned() []uint32 {
	return []uint32{unix.SYS_PWRITE64, unix.SYS_PWRITEV, unix.SYS_PWRITEV2, unix.SYS_FALLOCATE}
}

// writes are those that write to anything.
func writes() []uint32 { return []uint32{unix.SYS_WRITE, unix.SYS_WRITEV} }

func (c Calls) numbers() ([]uint32, error) {
	switch c {
	case Syncs:
		return syncs(), nil
	case Writes:
		return slices.Concat(syncs(), positioned(), writes()), nil
	}
	return nil, fmt.Errorf("calls %q: want %s or %s", string(c), Syncs, Writes)
}

// filter stops the calls of this machine's programs, and lets all others pass.
func filter(calls []uint32) []unix.SockFilter {
	const numberAt, machineAt = 0, 4 // in struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(to uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: to, Jt: uint8(yes), Jf: uint8(no)} //nolint:gosec // few calls
	}
	answer := func(with uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with}
	}
	program := []unix.SockFilter{load(machineAt), equal(machine(), 0, len(calls)+1), load(numberAt)}
	for i, number := range calls {
		program = append(program, equal(number, len(calls)-i, 0))
	}
	return append(program, answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_USER_NOTIF))
}

// Exec runs a program in the place of this one, with its calls stopped; args are those that
// [Command] made. It returns only if it cannot.
func Exec(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("want a file descriptor, calls and a program, have %q", args)
	}
	socket, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("file descriptor: %w", err)
	}
	calls, err := Calls(args[1]).numbers()
	if err != nil {
		return err
	}
	path, err := exec.LookPath(args[2])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter is the thread's, and stays with the program
	defer runtime.UnlockOSThread()
	if err := hand(socket, filter(calls)); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return syscall.Exec(path, args[2:], os.Environ()) //nolint:gosec // what the agent was to start
}

// hand puts the filter on this thread and sends its listener through the socket.
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

// install puts the filter on this thread.
func install(program []unix.SockFilter) (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("give up new privileges: %w", err)
	}
	code := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]} //nolint:gosec // few calls
	// Signals do not begin a call anew that waits for its answer, where the kernel has that.
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&code))) //nolint:gosec // seccomp(2) takes a pointer
	if errno == unix.EINVAL {
		fd, _, errno = unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&code))) //nolint:gosec // likewise
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
	if err := unix.SetNonblock(pair[1], true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a pair of sockets: %w", err), unix.Close(pair[0]), unix.Close(pair[1]))
	}
	return os.NewFile(uintptr(pair[0]), "disk"), os.NewFile(uintptr(pair[1]), "disk"), nil //nolint:gosec // small numbers
}
