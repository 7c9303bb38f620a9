package clock

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// alarm is a kernel timer on [Mono] that the runtime polls. The runtime's own timers have a
// resolution of 1 ms on Linux.
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

// set makes the alarm go off at that moment, in place of an earlier setting. A past moment means now.
func (a *alarm) set(at int64) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(at, 1))} // zero would disarm it
	_ = unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil)
}

// wait returns once the alarm has gone off since the previous call.
func (a *alarm) wait() {
	var times [8]byte
	_, _ = a.file.Read(times[:]) // fails only after close, which the same goroutine calls
}

func (a *alarm) close() { _ = a.file.Close() }
