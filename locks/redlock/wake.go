package redlock

import (
	"context"
	"errors"
	"hash/fnv"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks"
)

// This file is about waiting for other processes, with Publish. One instance, the home of a
// resource, keeps the line of the processes that wait for it; the release script
// there wakes the first. Nothing of it matters for exclusion: home is asked like
// every other instance, and whoever misses a wake-up tries again after a while.

// homeOf picks the home of a resource: the same for all clients, whatever process
// they are in, hence a hash without a seed.
func homeOf(resource string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(resource)) // a hash never fails
	return int(h.Sum64() % uint64(n))
}

// place is what came of standing in line.
type place uint8

const (
	noPlace          place = iota // home is away
	nothingToWaitFor              // the lock is free
	waited                        // woken, or it is time to look
)

// stand gets into the line at home and waits there. standing tells whether the
// client may be in that line when stand returns.
func (l *Locker) stand(ctx context.Context, ln *line, standing *bool) (place, error) {
	select {
	case <-ln.woken: // while the last attempt was under way
		*standing = false
		return waited, nil
	default:
	}
	if ok, err := l.ears[ln.home].listen(ctx); !ok {
		return noPlace, err
	}
	lineMS := 8 * 4 * l.options.Delay.Milliseconds() // well beyond the longest wait below
	reply := make(enrolment, 1)
	l.instances[ln.home].send(ln.lane, &command{
		script:   l.scripts.enrol,
		args:     l.scripts.enrol.call(2, keyPrefix+ln.resource, waitPrefix+ln.resource, l.channel, max(lineMS, 1000)),
		deadline: l.now() + l.timeout,
		to:       reply,
		instance: ln.home,
	})
	*standing = true
	timer := l.clock.NewTimer(l.timeout)
	defer timer.Stop()
	var left int64
	select {
	case left = <-reply:
	case <-timer.C():
		return noPlace, nil
	case <-ctx.Done():
		return noPlace, ctx.Err()
	case <-l.stop:
		return noPlace, locks.ErrClosed
	}
	switch {
	case left == enrolFailed:
		return noPlace, nil
	case left < 0:
		*standing = false
		return nothingToWaitFor, nil
	}
	patience := l.draw(2*l.options.Delay, 4*l.options.Delay)
	if left > 0 { // the holder's lease may run out before that
		patience = min(patience, time.Duration(left)*time.Millisecond+l.draw(0, l.options.Delay))
	}
	timer.Reset(patience)
	select {
	case <-ln.woken:
		*standing = false
		l.mu.Lock()
		ln.others = true // until an answer says otherwise
		l.mu.Unlock()
	case <-timer.C():
	case <-ctx.Done():
		return waited, ctx.Err()
	case <-l.stop:
		return waited, locks.ErrClosed
	}
	return waited, nil
}

// enrolment takes the answer to an enrolment: ms left, -1, or enrolFailed.
type enrolment chan int64

const enrolFailed = -2

func (e enrolment) receive(_ *command, value any, _ answer) {
	if left, ok := value.(int64); ok {
		e <- left
		return
	}
	e <- enrolFailed
}

// stepOut leaves the line at home, unless somebody else of this process can use
// the place in it.
func (l *Locker) stepOut(ln *line) {
	l.mu.Lock()
	wanted := len(ln.waiters) > 0 && !l.closing
	l.mu.Unlock()
	if !wanted {
		l.sendLeave(ln.resource, ln.home)
	}
}

func (l *Locker) sendLeave(resource string, home int) {
	l.instances[home].send(laneOf(l.hashSeed, resource), &command{
		script:   l.scripts.leave,
		args:     l.scripts.leave.call(2, keyPrefix+resource, waitPrefix+resource, l.channel, resource),
		deadline: l.now() + l.timeout,
		to:       nobody{},
		instance: home,
	})
}

type nobody struct{}

func (nobody) receive(*command, any, answer) {}

// ear is a client's subscription at one instance. It begins when it is needed first.
type ear struct {
	locker *Locker
	addr   string

	hears   atomic.Bool
	mu      sync.Mutex
	started bool
	closed  bool
	first   chan struct{} // closed at the first subscription
	conn    net.Conn
	client  *redis.Client
	pubsub  *redis.PubSub
}

// pulse is how often a quiet subscription is checked.
const pulse = time.Second

// listen starts the subscription if needed and says whether it is up.
func (e *ear) listen(ctx context.Context) (bool, error) {
	if e.hears.Load() {
		return true, nil
	}
	e.mu.Lock()
	if !e.started && !e.closed {
		e.started = true
		e.first = make(chan struct{})
		e.locker.running.Go(e.run)
	}
	first := e.first
	e.mu.Unlock()
	if first == nil {
		return false, locks.ErrClosed
	}
	timer := e.locker.clock.NewTimer(e.locker.timeout)
	defer timer.Stop()
	select {
	case <-first:
		return e.hears.Load(), nil
	case <-timer.C():
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-e.locker.stop:
		return false, locks.ErrClosed
	}
}

func (e *ear) run() {
	for failures := 0; ; failures++ {
		if e.subscribe() {
			failures = 0
		}
		timer := e.locker.clock.NewTimer(min(10*time.Millisecond<<min(failures, 5), 200*time.Millisecond))
		select {
		case <-timer.C():
		case <-e.locker.closed:
			timer.Stop()
			return
		}
	}
}

// subscribe listens until the connection breaks. It says whether it ever heard.
func (e *ear) subscribe() bool {
	ctx := context.Background() // close ends it by closing the connection
	conn, err := e.locker.access.dial(ctx, e.addr, e.locker.timeout)
	if err != nil {
		return false
	}
	pubsub := e.open(conn)
	if pubsub == nil {
		_ = conn.Close()
		return false
	}
	defer e.shut()
	if pubsub.Subscribe(ctx, e.locker.channel) != nil {
		return false
	}
	heard, asked := false, false
	for {
		message, err := pubsub.ReceiveTimeout(ctx, pulse)
		var netErr net.Error
		switch {
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
			e.hears.Store(true)
			e.mu.Lock()
			select {
			case <-e.first:
			default:
				close(e.first)
			}
			e.mu.Unlock()
		case *redis.Message:
			e.locker.count.Add(1)
			if !e.locker.wakeLine(m.Payload) {
				// Nobody here waits any more: pass it on.
				e.locker.sendLeave(m.Payload, homeOf(m.Payload, e.locker.rules.n))
			}
		}
	}
}

// open subscribes through a connection that is there. It is nil after close.
func (e *ear) open(conn net.Conn) *redis.PubSub {
	used := false
	o := e.locker.access.options(clientOptions(e.addr, e.locker.timeout))
	o.Dialer = func(context.Context, string, string) (net.Conn, error) {
		if used {
			return nil, errors.New("redlock: the subscription's connection is used up")
		}
		used = true
		return conn, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.conn, e.client = conn, redis.NewClient(o)
	e.pubsub = e.client.Subscribe(context.Background()) // connects when a channel is named
	return e.pubsub
}

func (e *ear) shut() {
	e.hears.Store(false)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.client != nil {
		_ = e.conn.Close() // first: it ends what the other two may wait for
		_ = e.pubsub.Close()
		_ = e.client.Close()
		e.conn, e.client, e.pubsub = nil, nil, nil
	}
}

func (e *ear) close() {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.shut()
}
