package redis

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks/redlock"
)

// waited sends WAIT after each SET NX PX or extension, on the same connection: a key counts only when
// enough replicas confirm it. WAIT blocks a connection, so each attempt has its own.
type waited struct {
	pool         *redis.Client
	sent         *atomic.Uint64
	replicas     int
	ttl, timeout time.Duration
}

func (w waited) set(_ redlock.Do, key, token string) (answer redlock.Answer, _ bool, err error) {
	answer, err = w.ask("set", key, token, "nx", "px", w.ttl.Milliseconds())
	return answer, false, err
}

// extend waits, too: a replica on which the key expires earlier would let the next client in.
func (w waited) extend(key, token string) (redlock.Answer, error) {
	return w.ask("eval", redlock.Extend, 1, key, token, w.ttl.Milliseconds())
}

// ask answers Unknown for a change that was made but not replicated, and may be lost: a key that was
// set is then deleted, an extension retried.
func (w waited) ask(args ...any) (redlock.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*w.timeout)
	defer cancel()
	pipe := w.pool.Pipeline()
	asked := pipe.Do(ctx, args...)
	copies := pipe.Do(ctx, "wait", w.replicas, (w.timeout / 2).Milliseconds()) // half, so that the answer is in time
	w.sent.Add(2)
	_, _ = pipe.Exec(ctx) // each has an error of its own
	answer := redlock.Verdict(asked.Result())
	if answer == redlock.Yes || answer == redlock.No {
		w.sent.Add(2)
	}
	if answer != redlock.Yes {
		return answer, asked.Err()
	}
	n, err := copies.Int()
	if err == nil && n < w.replicas {
		err = errors.New("too few replicas have the key")
	}
	if err != nil {
		return redlock.Unknown, err
	}
	return redlock.Yes, nil
}
