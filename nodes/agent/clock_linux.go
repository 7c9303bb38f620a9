package agent

import "golang.org/x/sys/unix"

// kernelClock asks the kernel, without changing anything, how wrong its wall clock
// may be.
func kernelClock() (maxErrorUS int64, synced bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil { // forbidden, as in some containers
		return 0, false
	}
	return int64(t.Maxerror), state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0 //nolint:unconvert // 32 bits on some machines
}
