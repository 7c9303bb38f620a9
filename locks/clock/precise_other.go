//go:build !linux

package clock

import (
	"runtime"
	"time"
)

// bell on systems without ppoll and timer slack: the runtime's own timers, whose
// granularity is that of the system.
type bell struct{ rung chan struct{} }

func newBell() (bell, error) { return bell{rung: make(chan struct{}, 1)}, nil }

func (b bell) ring() {
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

func (b bell) wait(deadline int64) {
	if deadline < 0 {
		<-b.rung
		return
	}
	t := time.NewTimer(time.Duration(deadline - Mono()))
	defer t.Stop()
	select {
	case <-b.rung:
	case <-t.C:
	}
}

func (b bell) close() {}

func pinThread() func() {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// Pin locks the calling goroutine to its thread for exact sleeping with
// [SleepPinned]; call the returned function to unlock it.
func Pin() func() { return pinThread() }

// SleepPinned sleeps until deadline, a value of [Mono].
func SleepPinned(deadline int64) { time.Sleep(time.Duration(deadline - Mono())) }
