//go:build !linux

package agent

// kernelClock: only Linux is asked.
func kernelClock() (maxErrorUS int64, synced bool) { return 0, false }
