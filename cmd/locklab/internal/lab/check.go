package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"locklab/workloads/check"
	"locklab/workloads/history"
)

// Check judges a history as a comparison does.
func Check(ctx context.Context, path string) (*check.Findings, error) {
	measured, err := measuredTime(ctx, path)
	if err != nil {
		return nil, err
	}
	return check.File(ctx, path, check.Options{Stall: stallLimit(measured)})
}

// stallLimit is from when on a time without grants is a stall: a second, or less in
// runs so short that a second would be most of a fault.
func stallLimit(measured time.Duration) time.Duration { return min(time.Second, measured/8) }

// measuredTime is how long the measured part was to last, as the first event says.
func measuredTime(ctx context.Context, path string) (_ time.Duration, err error) {
	r, err := history.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	var head history.Event
	if err := r.Next(&head); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if head.Kind != history.KindRun || head.Run == nil {
		return 0, fmt.Errorf("%s: the first line is not the description of a run: want a history that locklab wrote", path)
	}
	if head.Run.Expect != nil {
		if err := validExpect(*head.Run.Expect); err != nil {
			return 0, fmt.Errorf("%s:1: %w", path, err)
		}
	}
	return time.Duration(head.Run.DurationNS), nil
}

// validExpect refuses words that no verdict could be judged by.
func validExpect(e history.Expect) error {
	if e.Safety != "" && e.Safety != string(check.Safe) && e.Safety != string(check.Unsafe) {
		return fmt.Errorf("run.expect.safety %q: want %s or %s", e.Safety, check.Safe, check.Unsafe)
	}
	for _, l := range e.Liveness {
		if !slices.Contains([]check.Liveness{check.Live, check.Stalls, check.Down}, check.Liveness(l)) {
			return fmt.Errorf("run.expect.liveness %q: want %s, %s or %s", l, check.Live, check.Stalls, check.Down)
		}
	}
	for _, share := range []float64{e.Availability.Outside, e.Availability.During} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("run.expect.availability %v: want shares from 0 to 1", share)
		}
	}
	return nil
}
