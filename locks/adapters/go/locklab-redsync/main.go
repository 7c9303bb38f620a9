// Command redsync is github.com/go-redsync/redsync with its defaults: a lease of 8 s, 32 tries.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/locks/adapters/go/protocol"
)

func main() {
	hello := protocol.Line{"servers": []map[string]any{{"role": "redis"}}, "lease_ms": int64(8000)}
	protocol.Serve(hello, func(_ string, addrs []string) (protocol.Acquire, error) {
		var pools []redsyncredis.Pool
		for _, addr := range addrs {
			pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: addr})))
		}
		sync := redsync.New(pools...)
		return func(ctx context.Context, resource string, _ func(error)) (protocol.Hold, error) {
			mutex := sync.NewMutex(resource)
			if err := mutex.LockContext(ctx); err != nil {
				return protocol.Hold{}, err // its keys may be there on some servers
			}
			return protocol.Hold{Since: mutex.Until().Add(-8 * time.Second), Release: func(ctx context.Context) error {
				ok, err := mutex.UnlockContext(ctx)
				if ok {
					return nil
				}
				if errors.Is(err, redsync.ErrLockAlreadyExpired) {
					return protocol.ErrNotHeld
				}
				return err
			}}, nil
		}, nil
	})
}
