package redis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks/redlock"
)

// watch takes keys by an optimistic transaction. What is watched belongs to a connection,
// so that each attempt has one of its own.
type watch struct {
	pool         *redis.Client
	ttl, timeout time.Duration
}

func (w watch) set(a redlock.Attempt) {
	a.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
		defer cancel()
		answer, aborted := w.transact(ctx, a)
		for aborted && ctx.Err() == nil {
			answer, aborted = w.transact(ctx, a)
		}
		a.Answer(answer)
	})
}

// transact is one transaction. One that was aborted did nothing.
func (w watch) transact(ctx context.Context, a redlock.Attempt) (answer redlock.Answer, aborted bool) {
	writing, held := false, false
	err := w.pool.Watch(ctx, func(tx *redis.Tx) error {
		a.Sent(4)
		_, err := tx.Get(ctx, a.Key).Result()
		if held = err == nil; !errors.Is(err, redis.Nil) {
			return err
		}
		writing = true
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.SetArgs(ctx, a.Key, a.Token, redis.SetArgs{TTL: w.ttl}).Err()
		})
		a.Sent(2)
		return err
	}, a.Key)
	a.Failed(err)
	var refused redis.Error
	switch {
	case err == nil && held:
		return redlock.No, false
	case err == nil:
		return redlock.Yes, false
	case errors.Is(err, redis.TxFailedErr):
		return redlock.No, true
	case !writing || errors.As(err, &refused):
		return redlock.Unsent, false
	default:
		return redlock.Unknown, false
	}
}
