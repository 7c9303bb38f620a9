// Command redislock is github.com/bsm/redislock: one Redis server, a lease that nothing renews.
package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"locklab/locks/adapters/go/protocol"
)

func main() {
	ttl := flag.Duration("ttl", 3*time.Second, "the lease: the library has no default")
	flag.Parse()
	hello := protocol.Line{"servers": []map[string]any{{"role": "redis", "nodes": 1}}, "lease_ms": ttl.Milliseconds()}
	protocol.Serve(hello, func(_ string, addrs []string) (protocol.Acquire, error) {
		client := redislock.New(redis.NewClient(&redis.Options{Addr: addrs[0]}))
		// Its README retries linearly, every 100 ms.
		options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
		return func(ctx context.Context, resource string, _ func(error)) (protocol.Hold, error) {
			lock, err := client.Obtain(ctx, resource, *ttl, options)
			if errors.Is(err, redislock.ErrNotObtained) {
				return protocol.Hold{}, protocol.ErrNotHeld
			}
			return protocol.Hold{Release: func(ctx context.Context) error {
				err := lock.Release(ctx)
				if errors.Is(err, redislock.ErrLockNotHeld) {
					return protocol.ErrNotHeld
				}
				return err
			}}, err
		}, nil
	})
}
