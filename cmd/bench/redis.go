package main

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"locklab/locks"
	"locklab/locks/redis"
)

// redisRows compare the lock on one instance with its bare commands, and waiting for a
// message with polling.
func redisRows() []row {
	var rows []row
	for _, r := range []struct {
		workers int
		reach   float64
	}{{1, 0.9}, {16, 1.5}, {64, 2}} {
		rows = append(rows, row{
			name:  fmt.Sprintf("redis acquire+release / SET NX PX and compare-and-delete by go-redis, a key each, %d goroutines", r.workers),
			reach: r.reach, unit: "ops/s",
			start: withRedis(func(b *redisBench) (measurement, measurement, error) {
				l, err := b.redisLocker("redis")
				return rate(r.workers, func(ctx context.Context, w int) error {
					return pair(ctx, l, fmt.Sprintf("bench-%d", w))
				}), b.bareRate(r.workers), err
			}),
		})
	}
	return append(rows,
		handoffRow(2, 20, "1 waits: a message against a pause"),
		handoffRow(16, 0, "15 wait: one of these polls every 3 ms, and a message wakes them all for one grant"))
}

// handoffRow has clients that know nothing of each other pass through one key. With two of
// them one waits, and the ratio is that of a message to a pause: the figure to reach is for
// that. With many it is not, so that the row is only reported: a message wakes them all for
// one grant, and of many who poll there is always one who looks soon.
func handoffRow(clients int, reach float64, why string) row {
	return row{
		name:  fmt.Sprintf("redis:pubsub, one key, %d clients of 1 worker: owner changes / redis polling every 50 ms; %s", clients, why),
		reach: reach, unit: "/s",
		start: withRedis(func(b *redisBench) (measurement, measurement, error) {
			subject, err := b.redisChanges(clients, "redis:pubsub")
			if err != nil {
				return nil, nil, err
			}
			peer, err := b.redisChanges(clients, "redis:delay=50ms")
			return subject, peer, err
		}),
	}
}

func (b *redisBench) redisLocker(text string) (locks.Locker, error) {
	spec, err := locks.ParseSpec(text)
	if err != nil {
		return nil, err
	}
	options, err := redis.ParseOptions(spec)
	if err != nil {
		return nil, err
	}
	l, err := redis.New(redis.Config{Addr: b.addrs[0], Options: options})
	if err == nil {
		b.stops.close(l)
	}
	return l, err
}

// bareRate is the two commands of the lock and nothing else, over go-redis's own pool.
func (b *redisBench) bareRate(workers int) measurement {
	const token = "0123456789abcdef0123456789abcdef"
	release := goredis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`)
	client := b.clients[0]
	return rate(workers, func(ctx context.Context, w int) error {
		key := fmt.Sprintf("bare-%d", w)
		if err := client.SetNX(ctx, key, token, 3*time.Second).Err(); err != nil {
			return err
		}
		return release.Run(ctx, client, []string{key}, token).Err()
	})
}

func (b *redisBench) redisChanges(clients int, spec string) (measurement, error) {
	lockers := make([]locks.Locker, clients)
	for i := range lockers {
		var err error
		if lockers[i], err = b.redisLocker(spec); err != nil {
			return nil, err
		}
	}
	return changes(len(lockers), func(ctx context.Context, w int, inside func()) error {
		lease, err := lockers[w].Acquire(ctx, spec)
		if err != nil {
			return err
		}
		inside()
		return lease.Release(ctx)
	}, func(_ []int, changesPS float64) float64 { return changesPS }), nil
}
