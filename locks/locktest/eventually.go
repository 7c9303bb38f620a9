package locktest

import (
	"testing"
	"time"

	"locklab/locks/clock"
)

// patience is longer than anything that a right program does, on any machine.
const patience = 2 * time.Minute

// Eventually waits for a condition that has no event to wait for.
func Eventually(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	const often = 2 * time.Millisecond
	for end := clock.Mono() + int64(patience); !holds(); {
		if clock.Mono() > end {
			tb.Fatalf("waited in vain: %s", what)
		}
		<-clock.System().NewTimer(often).C()
	}
}
