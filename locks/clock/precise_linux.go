package clock

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// bell lets one thread sleep until a moment or until another thread rings.
type bell struct{ fd int }

func newBell() (bell, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return bell{}, fmt.Errorf("create eventfd: %w", err)
	}
	return bell{fd: fd}, nil
}

func (b bell) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(b.fd, one[:]) // full means that it rings already
}

// wait sleeps until deadline (a value of Mono; negative: for ever) or a ring.
func (b bell) wait(deadline int64) {
	var timeout *unix.Timespec
	if deadline >= 0 {
		left := max(deadline-Mono(), 0)
		ts := unix.NsecToTimespec(left)
		timeout = &ts
	}
	fds := []unix.PollFd{{Fd: int32(b.fd), Events: unix.POLLIN}}
	n, err := unix.Ppoll(fds, timeout, nil)
	if err == nil && n > 0 {
		var buf [8]byte
		_, _ = unix.Read(b.fd, buf[:])
	}
}

func (b bell) close() { _ = unix.Close(b.fd) }

// pinThread locks the goroutine to its thread and takes the thread's timer slack
// (50 us by default) away.
func pinThread() func() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it wake-ups are 50 us late, not wrong
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)
		runtime.UnlockOSThread()
	}
}

// Pin locks the calling goroutine to its thread for exact sleeping with
// [SleepPinned]; call the returned function to unlock it.
func Pin() func() { return pinThread() }

// SleepPinned sleeps until deadline, a value of [Mono], on a pinned thread. It
// blocks the thread and cannot be interrupted, so callers sleep in short pieces.
func SleepPinned(deadline int64) {
	for {
		left := deadline - Mono()
		if left <= 0 {
			return
		}
		ts := unix.NsecToTimespec(left)
		_ = unix.Nanosleep(&ts, nil) // an interrupted sleep goes round again
	}
}
