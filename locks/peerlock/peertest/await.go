package peertest

import (
	"context"
	"testing"
	"time"

	"locklab/locks/clock"
)

// Await waits until the condition holds.
func Await(ctx context.Context, tb testing.TB, condition func() bool) {
	tb.Helper()
	const often = time.Millisecond
	timer := clock.System().NewTimer(often)
	defer timer.Stop()
	for !condition() {
		select {
		case <-timer.C():
			timer.Reset(often)
		case <-ctx.Done():
			tb.Fatal("a condition did not come true in time")
		}
	}
}
