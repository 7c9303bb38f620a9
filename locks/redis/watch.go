package redis

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks/redlock"
)

// watch takes keys by an optimistic transaction. WATCH belongs to a connection, so each
// attempt has its own.
type watch struct {
	pool         *redis.Client
	sent         *atomic.Uint64
	ttl, timeout time.Duration
}

// set retries an aborted transaction, which changed nothing.
func (w watch) set(_ redlock.Do, key, token string) (answer redlock.Answer, _ bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), w.timeout)
	defer cancel()
	err = redis.TxFailedErr
	for errors.Is(err, redis.TxFailedErr) && ctx.Err() == nil {
		answer, err = w.transact(ctx, key, token)
	}
	return answer, false, err
}

func (w watch) transact(ctx context.Context, key, token string) (redlock.Answer, error) {
	writing, held := false, false
	err := w.pool.Watch(ctx, func(tx *redis.Tx) error {
		w.sent.Add(4)
		_, err := tx.Get(ctx, key).Result()
		if held = err == nil; !errors.Is(err, redis.Nil) {
			return err
		}
		writing = true
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			return p.SetArgs(ctx, key, token, redis.SetArgs{TTL: w.ttl}).Err()
		})
		w.sent.Add(2)
		return err
	}, key)
	switch {
	case held, errors.Is(err, redis.TxFailedErr):
		return redlock.No, err
	case err != nil && !writing:
		return redlock.Unsent, err
	}
	return redlock.Ran(err), err
}
