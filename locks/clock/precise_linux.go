package clock

import (
	"fmt"
	"os"

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
