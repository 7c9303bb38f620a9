package redlock

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/signals"
	"locklab/locks"
)

// What an instance said to the attempt of a lock on one instance, or why it said nothing.
const (
	Yes     = yes     // the key carries the token
	No      = no      // it does not
	Unsent  = unsent  // nothing was tried: the instance is away, or refused to work
	Unknown = unknown // the key may carry the token, now or later
)

// Single is how a lock on one instance differs from Redlock with one instance, which it
// otherwise is: one attempt after the other, a lease, its end. Package redis has the locks.
type Single struct {
	// Name begins the errors of NewSingle.
	Name string
	// Release is Lua, with the key in KEYS[1] and the token in ARGV[1]. It answers 1 if the
	// key carried the token. Without it keys are deleted as Redlock's are.
	Release string
	// FreeAnyway is Lua that takes the place of Release when a lease ends, but not when
	// an attempt is taken back.
	FreeAnyway string
	// Token makes the token of an attempt; nil draws one.
	Token func() string
	// Set asks the instance for the key, without blocking, and has the Attempt answered
	// once, later; nil is SET key token NX PX ttl.
	Set func(Attempt)
	// Prolong does the same for an extension; nil is what Redlock does.
	Prolong func(Attempt)
	// Publishes says that Release tells waiters by a message. They listen from the first
	// refusal on, and try again at every message about their resource.
	Publishes bool
}

// ReleaseChannel is the prefix of the channels on which a lock that publishes tells of
// releases. What follows is the resource.
const ReleaseChannel = "free:"

// NewSingle returns a client of a lock on one instance. The error wraps locks.ErrInvalid.
func NewSingle(cfg Config, how Single) (*Locker, error) {
	if len(cfg.Addrs) != 1 {
		return nil, fmt.Errorf("%s: %d addresses: want one: %w", how.Name, len(cfg.Addrs), locks.ErrInvalid)
	}
	return open(cfg, &how)
}

// Pool is a client of an instance with connections of its own, for what lasts longer than
// one command. It does nothing twice.
func (c Config) Pool(addr string) *redis.Client {
	o := clientOptions(addr, c.Options.Timeout)
	o.PoolSize, o.PoolTimeout = 64, c.Options.Timeout
	o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := c.dialer()(ctx, addr, c.Options.Timeout)
		if err != nil {
			return brokenConn(), nil //nolint:nilerr // see lane.options
		}
		return conn, nil
	}
	return redis.NewClient(o)
}

// Attempt is one try to set a key, or to extend its life.
type Attempt struct {
	Key, Token string
	lease      *lease
	kind       eventKind // of the answer
	deadline   time.Duration
}

// Do sends a command to the instance. then gets its value, nil if there is none, and
// whether it ran: Yes, Unsent or Unknown. It must not block.
func (a Attempt) Do(then func(value any, ran Answer), args ...any) {
	a.lease.locker.instances[0].send(a.lease.lane, &command{
		args: args, deadline: a.deadline, to: attemptReceiver{a.lease, then}, kind: effSet,
	})
}

// attemptReceiver knows no verdict: what a value means is for the attempt.
type attemptReceiver struct {
	lease *lease
	then  func(value any, ran Answer)
}

func (r attemptReceiver) receive(c *command, value any, a answer) {
	r.lease.note(0, c.why)
	if a == no {
		a = yes
	}
	r.then(value, a)
}

// Go runs what blocks, until the client closes at the latest.
func (a Attempt) Go(f func()) { a.lease.locker.running.Go(f) }

// Sent counts messages that went another way than by Do.
func (a Attempt) Sent(messages uint64) { a.lease.locker.count.Add(messages) }

// Keep says that the key carries the token although the lock is another's: it must not be
// deleted.
func (a Attempt) Keep() {
	a.lease.mu.Lock()
	defer a.lease.mu.Unlock()
	a.lease.deleteArgs = a.lease.locker.scripts.release.call(1, a.Key, "") // no key carries that
}

// Failed notes why the instance did not do as it was asked, for the error of Acquire.
func (a Attempt) Failed(err error) { a.lease.note(0, err) }

// Answer ends the attempt.
func (a Attempt) Answer(answer Answer) {
	a.lease.step(event{kind: a.kind, answer: answer})
}

// hear waits, with Publishes, until another attempt makes sense. At a waiter's first
// refusal that is as soon as it listens, for what was released before was not heard.
func (l *Locker) hear(ctx context.Context, q *queue) error {
	listening, err := l.subscriptions[0].listen(ctx)
	switch {
	case err != nil:
		return err
	case !listening:
		return l.pause(ctx, l.delay())
	case q.woken == nil:
		l.expect(q)
		return nil
	}
	left, err := l.left(ctx, q)
	if err == nil {
		_, _, err = await(ctx, l, left, q.woken)
	}
	return err
}

// left is how long the key has to live: messages get lost, so that a waiter tries again
// when the lease should have run out.
func (l *Locker) left(ctx context.Context, q *queue) (time.Duration, error) {
	reply := make(chan time.Duration, 1)
	l.instances[0].send(q.lane, &command{
		args: []any{"pttl", keyPrefix + q.resource}, deadline: l.now() + l.timeout,
		to: receiverFunc(func(value any) {
			ms, ok := value.(int64)
			switch {
			case !ok || ms == -1: // no answer, or a key without an end
				reply <- l.delay()
			default:
				reply <- time.Duration(max(ms, 0)) * time.Millisecond // -2: the key is gone
			}
		}),
	})
	left, came, err := await(ctx, l, 2*l.timeout, reply)
	if !came {
		left = l.delay()
	}
	return left, err
}

// expect has the waiter told of releases, and forget ends that.
func (l *Locker) expect(q *queue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.woken = make(chan struct{}, 1)
	l.expecting[q.resource] = append(l.expecting[q.resource], q)
}

func (l *Locker) forget(q *queue) {
	if q.woken == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expecting[q.resource] = slices.DeleteFunc(l.expecting[q.resource], func(o *queue) bool { return o == q })
	if len(l.expecting[q.resource]) == 0 {
		delete(l.expecting, q.resource)
	}
}

// heard tells all who wait for the resource; for all resources if it is "".
func (l *Locker) heard(resource string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiters := l.expecting[resource]
	if resource == "" {
		waiters = slices.Concat(slices.Collect(maps.Values(l.expecting))...)
	}
	for _, q := range waiters {
		signals.Wake(q.woken)
	}
}
