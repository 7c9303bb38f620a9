// Command rueidislock is github.com/redis/rueidis/rueidislock: leases of 3 s that it extends, one
// key, and client-side caching to wake waiters.
package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"locklab/locks/adapters/go/protocol"
)

func main() {
	hello := protocol.Line{"servers": []map[string]any{{"role": "redis", "nodes": 1}}}
	protocol.Serve(hello, func(_ string, addrs []string) (protocol.Acquire, error) {
		locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: addrs[:1]}, KeyValidity: 3 * time.Second, KeyMajority: 1,
		})
		return func(ctx context.Context, resource string, lost func(error)) (protocol.Hold, error) {
			asking, giveUp := context.WithCancel(context.WithoutCancel(ctx))
			asks := context.AfterFunc(ctx, giveUp)
			held, cancel, err := locker.WithContext(asking, resource)
			if err != nil || !asks() { // given up
				return protocol.Hold{}, errors.Join(err, ctx.Err())
			}
			context.AfterFunc(held, func() { lost(errors.New("its context is done")) })
			return protocol.Hold{Release: func(context.Context) error {
				ended := held.Err() != nil
				cancel()
				if ended {
					return protocol.ErrNotHeld
				}
				return nil
			}}, nil
		}, err
	})
}
