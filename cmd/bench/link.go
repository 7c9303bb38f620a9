package main

import (
	"context"
	"slices"
	"time"

	"locklab/chaos/link"
	"locklab/locks/clock"
)

// linkRows say what the links add to what is measured through them.
func linkRows() []row {
	return []row{
		{
			name: "link: round trip through a link p50 / direct p50", reach: 4, atMost: true, unit: "us",
			start: func(ctx context.Context) (measurement, measurement, func(), error) {
				return startLink(ctx, func(m *link.Meter) (subject, peer measurement, err error) {
					through, err := m.Through(ctx, link.Delay{}, link.Delay{})
					if err != nil {
						return nil, nil, err
					}
					direct, err := m.Direct(ctx)
					return roundTrip(through), roundTrip(direct), err
				})
			},
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
		start: func(ctx context.Context) (measurement, measurement, func(), error) {
			return startLink(ctx, func(m *link.Meter) (subject, peer measurement, err error) {
				plain, err := m.Through(ctx, link.Delay{}, link.Delay{})
				if err != nil {
					return nil, nil, err
				}
				delayed, err := m.Through(ctx, link.Delay{Base: delay}, link.Delay{})
				return func(ctx context.Context, d time.Duration) (float64, error) {
					without, err := roundTrip(plain)(ctx, d/2)
					if err != nil {
						return 0, err
					}
					with, err := roundTrip(delayed)(ctx, d/2)
					off := with - without - float64(delay)/float64(time.Microsecond)
					return max(off, -off), err
				}, nil, err
			})
		},
	}
}

func startLink(ctx context.Context, open func(*link.Meter) (subject, peer measurement, err error)) (measurement, measurement, func(), error) {
	m, err := link.NewMeter(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	subject, peer, err := open(m)
	if err != nil {
		m.Close()
		return nil, nil, nil, err
	}
	return subject, peer, m.Close, nil
}

// roundTrip measures the median round trip of a path, in microseconds.
func roundTrip(p *link.Path) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		var all []float64
		for end := clock.Mono() + int64(d); clock.Mono() < end || len(all) == 0; {
			took, err := p.RoundTrip(ctx)
			if err != nil {
				return 0, err
			}
			all = append(all, float64(took)/float64(time.Microsecond))
		}
		slices.Sort(all)
		return all[len(all)/2], nil
	}
}
