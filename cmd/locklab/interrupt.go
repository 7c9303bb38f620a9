package main

import (
	"context"
	"errors"
	"time"

	"locklab/locks/clock"
)

// tidyTime is how long work that only reads and writes files may take to end by
// itself when it is interrupted.
const tidyTime = 250 * time.Millisecond

// interruptible does work that leaves nothing behind but files, and ends soon when the
// user interrupts it, whatever it is busy with.
func interruptible(ctx context.Context, work func() error) error {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = work()
	}()
	select {
	case <-done:
		if ctx.Err() == nil {
			return err
		}
	case <-ctx.Done():
		clock.Await(clock.System(), tidyTime, done)
	}
	return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
}
