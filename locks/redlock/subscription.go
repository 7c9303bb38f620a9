package redlock

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// subscription is a client's subscription at one instance. It begins when it is needed first.
type subscription struct {
	locker *Locker
	addr   string

	up     atomic.Bool
	mu     sync.Mutex
	first  chan struct{} // closed at the first subscription, or when it is refused
	client *redis.Client // nil until it begins
}

// pulse is how often a quiet subscription is checked.
const pulse = time.Second

// listen starts the subscription if needed and says whether it is up.
func (s *subscription) listen(ctx context.Context) (bool, error) {
	if s.up.Load() {
		return true, nil
	}
	s.mu.Lock()
	if s.client == nil && !signals.Closed(s.locker.closed) {
		o := clientOptions(s.addr, s.locker.timeout)
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return s.locker.dialer(ctx, s.addr, s.locker.timeout)
		}
		s.client, s.first = redis.NewClient(o), make(chan struct{})
		s.locker.running.Go(s.run)
	}
	first := s.first
	s.mu.Unlock()
	if first == nil {
		return false, locks.ErrClosed
	}
	_, _, err := await(ctx, s.locker, s.locker.timeout, first)
	return err == nil && s.up.Load(), err
}

func (s *subscription) run() {
	for failures := 0; ; failures++ {
		if s.subscribe() {
			failures = 0
		}
		if _, closed := clock.Await(s.locker.clock, min(10*time.Millisecond<<min(failures, 5), 200*time.Millisecond), s.locker.closed); closed {
			return
		}
	}
}

// subscribe listens until the connection breaks. It says whether it ever heard.
func (s *subscription) subscribe() bool {
	ctx := context.Background()       // close ends it by closing the connection
	pubsub := s.client.Subscribe(ctx) // connects when a channel is named
	defer func() {
		s.up.Store(false)
		_ = pubsub.Close()
	}()
	subscribe, channel := pubsub.Subscribe, s.locker.channel
	if s.locker.single != nil {
		subscribe, channel = pubsub.PSubscribe, ReleaseChannel+"*"
	}
	if subscribe(ctx, channel) != nil {
		return false
	}
	heard, asked := false, false
	for !signals.Closed(s.locker.closed) {
		message, err := pubsub.ReceiveTimeout(ctx, pulse)
		var netErr net.Error
		switch {
		case isServerError(err):
			if s.heardOnce() {
				s.locker.log.Warn("redis refuses the subscription: waiters poll", "addr", s.addr, "error", err)
			}
			return heard
		case err == nil:
			asked = false
		case errors.As(err, &netErr) && netErr.Timeout() && !asked:
			asked = true
			if pubsub.Ping(ctx) != nil {
				return heard
			}
		default:
			return heard
		}
		switch m := message.(type) {
		case *redis.Subscription:
			heard = true
			s.up.Store(true)
			s.heardOnce()
			s.locker.heard("") // what was released before was not heard
		case *redis.Message:
			s.locker.count.Add(1)
			if resource, ofAll := strings.CutPrefix(m.Channel, ReleaseChannel); ofAll {
				s.locker.heard(resource)
			} else if !s.locker.wakeQueue(m.Payload) {
				// Nobody here waits any more: pass it on.
				s.locker.sendLeave(m.Payload, homeOf(m.Payload, s.locker.rules.n))
			}
		}
	}
	return heard
}

// heardOnce lets callers of listen go on. It is true the first time.
func (s *subscription) heardOnce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if signals.Closed(s.first) {
		return false
	}
	close(s.first)
	return true
}

// close ends it.
func (s *subscription) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}
