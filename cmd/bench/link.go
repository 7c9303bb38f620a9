package main

import (
	"context"
	"time"

	"locklab/chaos/link"
)

// linkRows say what the links add to what is measured through them.
func linkRows() []row {
	return []row{
		{
			name: "link: round trip through a link p50 / direct p50", reach: 4, atMost: true, unit: "us",
			start: withMeter(func(ctx context.Context, m *link.Meter, through *link.Path) (subject, peer measurement, err error) {
				direct, err := m.Direct(ctx)
				return timed(through.RoundTrip), timed(direct.RoundTrip), err
			}),
		},
		delayErrorRow(time.Millisecond),
		delayErrorRow(300 * time.Microsecond),
	}
}

// delayErrorRow says how far the p50 of an injected one-way delay is from what was
// asked for; what a link costs without a delay is taken off.
func delayErrorRow(delay time.Duration) row {
	return row{
		name: "link: error of an injected delay of " + delay.String() + ", p50", reach: 100, atMost: true, unit: "us",
		start: withMeter(func(ctx context.Context, m *link.Meter, plain *link.Path) (subject, peer measurement, err error) {
			delayed, err := m.Through(ctx, link.Delay{Base: delay}, link.Delay{})
			return func(ctx context.Context, d time.Duration) (float64, error) {
				without, err := timed(plain.RoundTrip)(ctx, d/2)
				if err != nil {
					return 0, err
				}
				with, err := timed(delayed.RoundTrip)(ctx, d/2)
				off := with - without - micros(delay)
				return max(off, -off), err
			}, nil, err
		}),
	}
}

// withMeter makes a start out of what measures with a path through a link without a delay.
func withMeter(pick func(context.Context, *link.Meter, *link.Path) (subject, peer measurement, err error)) starter {
	return func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
		m, err := link.NewMeter(ctx)
		if err != nil {
			return nil, nil, err
		}
		stops.add(m.Close)
		plain, err := m.Through(ctx, link.Delay{}, link.Delay{})
		if err != nil {
			return nil, nil, err
		}
		return pick(ctx, m, plain)
	}
}
