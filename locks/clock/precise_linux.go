package clock

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// alarm goes off at a moment of [Mono]: a timer of the kernel that the runtime's poller
// waits for. The runtime's own timers have steps of a millisecond there.
type alarm struct {
	fd   int
	file *os.File
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("create timerfd: %w", err)
	}
	return &alarm{fd, os.NewFile(uintptr(fd), "timerfd")}, nil //nolint:gosec // not negative
}

// set has the alarm go off at the moment, at once if that has passed, and no more at the
// one that was set before.
func (a *alarm) set(at int64) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(at, 1))} // zero would disarm it
	_ = unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// wait returns when the alarm went off since the last call.
func (a *alarm) wait() {
	var times [8]byte
	_, _ = a.file.Read(times[:]) // only close makes it fail, which the same goroutine calls
}

func (a *alarm) close() { _ = a.file.Close() }

// Pin locks the calling goroutine to its thread for exact sleeping with [SleepPinned], and
// takes the thread's timer slack (50 us by default) away; call the returned function to
// unlock it.
func Pin() func() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // without it wake-ups are 50 us late, not wrong
	return func() {
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0)
		runtime.UnlockOSThread()
	}
}

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
