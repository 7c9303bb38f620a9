package redis

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks/redlock"
)

// waited takes keys by SET NX PX, and extends them, and then sends WAIT on the same
// connection: only what so many replicas say they have counts. WAIT keeps a connection waiting, so that
// each attempt has one of its own.
type waited struct {
	pool         *redis.Client
	replicas     int
	ttl, timeout time.Duration
}

func (w waited) set(a redlock.Attempt) {
	w.ask(a, func(ctx context.Context, p redis.Pipeliner) redis.Cmder {
		return p.SetArgs(ctx, a.Key, a.Token, redis.SetArgs{Mode: "NX", TTL: w.ttl})
	})
}

// extend is waited for too: a replica whose key ends sooner than its holder believes would
// let the next one in.
func (w waited) extend(a redlock.Attempt) {
	w.ask(a, func(ctx context.Context, p redis.Pipeliner) redis.Cmder {
		return p.Eval(ctx, redlock.Extend, []string{a.Key}, a.Token, w.ttl.Milliseconds())
	})
}

func (w waited) ask(a redlock.Attempt, what func(context.Context, redis.Pipeliner) redis.Cmder) {
	a.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*w.timeout)
		defer cancel()
		var asked redis.Cmder
		var copies *redis.Cmd
		a.Sent(2)
		_, _ = w.pool.Pipelined(ctx, func(p redis.Pipeliner) error { // each has an error of its own
			asked = what(ctx, p)
			copies = p.Do(ctx, "wait", w.replicas, (w.timeout / 2).Milliseconds()) // so that its answer is not late
			return nil
		})
		answer := w.answer(asked, copies)
		err := asked.Err()
		if err == nil {
			err = copies.Err()
		}
		a.Failed(err)
		if answer == redlock.Yes || answer == redlock.No {
			a.Sent(2)
		}
		a.Answer(answer)
	})
}

// answer is unknown for what is done and not copied, and so may be lost: a key that was set
// is deleted then, an extension tried again.
func (w waited) answer(asked redis.Cmder, copies *redis.Cmd) redlock.Answer {
	var refused redis.Error
	err := asked.Err()
	if script, is := asked.(*redis.Cmd); is && err == nil && script.Val() != int64(1) {
		err = redis.Nil
	}
	switch {
	case err == nil && w.copied(copies):
		return redlock.Yes
	case err == nil:
		return redlock.Unknown
	case errors.Is(err, redis.Nil):
		return redlock.No
	case errors.As(err, &refused), errors.Is(err, io.ErrClosedPipe), errors.Is(err, redis.ErrPoolTimeout):
		return redlock.Unsent // refused, or there was no connection
	default:
		return redlock.Unknown
	}
}

func (w waited) copied(wait *redis.Cmd) bool {
	n, err := wait.Int()
	return err == nil && n >= w.replicas
}
