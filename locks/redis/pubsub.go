package redis

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/signals"
	"locklab/locks/redlock"
)

// releaseChannel is the prefix of the channels for releases. The resource follows.
const releaseChannel = "free:"

// releases is a client's subscription to the releases of all resources. It begins at the first
// refusal, and go-redis reconnects it.
type releases struct {
	client  *redis.Client
	timeout time.Duration
	sent    *atomic.Uint64

	mu      sync.Mutex
	pubsub  *redis.PubSub // nil until it begins
	woken   map[string][]chan struct{}
	hearing sync.WaitGroup
}

// waiter wakes a call at each release of the resource, from the call's first refusal on.
func (r *releases) waiter(do redlock.Do, resource string) (wait func() (time.Duration, <-chan struct{}), done func()) {
	var woken chan struct{} // holds one value after a release
	wait = func() (time.Duration, <-chan struct{}) {
		switch {
		case !r.listen():
			return -1, nil
		case woken == nil: // try again at once: earlier releases were missed
			woken = make(chan struct{}, 1)
			r.mu.Lock()
			r.woken[resource] = append(r.woken[resource], woken)
			r.mu.Unlock()
			return 0, nil
		}
		// Messages can be lost, so a waiter also tries when the lease should have expired.
		value, _ := do("pttl", "lock:"+resource)
		left, answered := value.(int64)
		if !answered || left == -1 { // a key without an expiry
			return -1, woken
		}
		return time.Duration(max(left, 0)) * time.Millisecond, woken // -2: the key is gone
	}
	return wait, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		others := slices.DeleteFunc(r.woken[resource], func(c chan struct{}) bool { return c == woken })
		if r.woken[resource] = others; len(others) == 0 {
			delete(r.woken, resource)
		}
	}
}

// listen begins the subscription if needed. It is false if the server refuses it.
func (r *releases) listen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pubsub != nil {
		return true
	}
	ctx := context.Background() // close ends it
	pubsub := r.client.PSubscribe(ctx, releaseChannel+"*")
	if _, err := pubsub.ReceiveTimeout(ctx, r.timeout); err != nil {
		_ = pubsub.Close()
		return false
	}
	r.pubsub = pubsub
	r.hearing.Go(func() {
		for event := range pubsub.ChannelWithSubscriptions() {
			r.hear(event)
		}
	})
	return true
}

// hear wakes the calls that wait for a resource, or all calls when the subscription begins again,
// since earlier releases were missed.
func (r *releases) hear(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := slices.Concat(slices.Collect(maps.Values(r.woken))...)
	if m, is := event.(*redis.Message); is {
		r.sent.Add(1)
		waiting = r.woken[strings.TrimPrefix(m.Channel, releaseChannel)]
	}
	for _, woken := range waiting {
		signals.Wake(woken)
	}
}

func (r *releases) close() (err error) {
	r.mu.Lock()
	if r.pubsub != nil {
		err = r.pubsub.Close()
	}
	r.mu.Unlock()
	r.hearing.Wait()
	return errors.Join(err, r.client.Close())
}
