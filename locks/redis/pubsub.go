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

// releaseChannel is the prefix of the channels on which releases are told. What follows is the
// resource.
const releaseChannel = "free:"

// releases is a client's subscription to the releases of all resources. It begins when a call is
// refused first, and go-redis connects it again when it breaks.
type releases struct {
	client  *redis.Client
	timeout time.Duration
	sent    *atomic.Uint64

	mu      sync.Mutex
	pubsub  *redis.PubSub // nil until it begins
	woken   map[string][]chan struct{}
	hearing sync.WaitGroup
}

// waiter has a call told of the resource's releases, from its first refusal on.
func (r *releases) waiter(do redlock.Do, resource string) (wait func() (time.Duration, <-chan struct{}), done func()) {
	var woken chan struct{} // holds one value after a release
	wait = func() (time.Duration, <-chan struct{}) {
		switch {
		case !r.listen():
			return -1, nil
		case woken == nil: // what was released before was not heard
			woken = make(chan struct{}, 1)
			r.mu.Lock()
			r.woken[resource] = append(r.woken[resource], woken)
			r.mu.Unlock()
			return 0, nil
		}
		// Messages get lost, so that a waiter tries again when the lease should have run out.
		value, _ := do("pttl", "lock:"+resource)
		left, answered := value.(int64)
		if !answered || left == -1 { // a key without an end
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

// listen begins the subscription if needed, and says whether there is one: a server may refuse it.
func (r *releases) listen() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pubsub != nil {
		return true
	}
	ctx := context.Background() // close ends it
	pubsub := r.client.PSubscribe(ctx, releaseChannel+"*")
	if _, err := pubsub.ReceiveTimeout(ctx, r.timeout); err != nil {
		_ = pubsub.Close() // it is of no use
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

// hear wakes the calls that wait for a resource; all of them when the subscription begins again, for
// what was released before was not heard.
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
