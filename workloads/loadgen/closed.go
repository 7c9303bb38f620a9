package loadgen

import (
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/locks/clock"
)

// Closed runs clients that call do one operation after the other until the
// duration is over; cfg.Pacer is not used. Op.Index counts within a client, and
// an operation is due when it is sent: nothing can be late. It returns when the
// last operation has returned.
func Closed(ctx context.Context, cfg Config, clients int, do func(ctx context.Context, client int, op Op)) error {
	if err := cfg.validate(); err != nil {
		return err
	}
	if clients < 1 {
		return fmt.Errorf("loadgen: %d clients: want at least 1", clients)
	}
	start := cfg.StartNS
	if start == 0 {
		start = clock.Mono()
	}
	measure := start + int64(cfg.Warmup)
	end := measure + int64(cfg.Duration)
	if !sleepUntil(ctx, start) {
		return nil
	}
	cfg.Phase(PhaseWarmup, start)

	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for index := uint64(0); ctx.Err() == nil; index++ {
				now := clock.Mono()
				if now >= end {
					return
				}
				do(ctx, client, Op{Index: index, IntendedNS: now, SentNS: now, Measured: now >= measure})
			}
		})
	}
	if sleepUntil(ctx, measure) {
		cfg.Phase(PhaseMeasure, measure)
		sleepUntil(ctx, end)
	}
	cfg.drain(ctx, min(end, clock.Mono()), &running)
	return nil
}

// sleepUntil waits for a moment of clock.Mono; false if ctx was done first.
func sleepUntil(ctx context.Context, deadline int64) bool {
	return clock.Sleep(ctx, time.Duration(deadline-clock.Mono())) == nil
}
