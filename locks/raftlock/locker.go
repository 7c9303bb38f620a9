// Package raftlock is the client of the raft lock service (nodes/raftnode).
//
// One [Locker] has one session and one stream to the leader, which carries any number of
// concurrent acquisitions and releases; requests that are ready together share a frame. An
// acquisition waits in the service's own queue; nothing is polled. The fencing token is the
// index of the log entry of the grant.
//
// A session and all its leases live while the client renews it; every answered request renews it,
// too. The client counts the lease from when it sent the answered request, on its own monotonic
// clock, and closes Lost a margin before the service can end the session. It replaces a broken stream:
// it follows the servers' hints to the leader, continues its session and repeats unanswered requests.
//
// Outcomes: when an acquisition's context ends, the client cancels it at the service. If the service
// confirms that, the error is [locks.ErrNotAcquired], and otherwise [locks.ErrUnknown]; the
// cancellation is then delivered as soon as possible. A release returns when the lease is over, at the
// latest; if it was sent and not answered, with [locks.ErrUnknown].
package raftlock

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/raftlock/wire"
)

// Locker is one client of the service, with one session at a time.
type Locker struct {
	options  Options
	client   string
	clock    clock.Clock
	log      *slog.Logger
	messages atomic.Uint64

	mu      sync.Mutex
	session *session
	stream  *stream // nil while the client looks for the leader
	closing bool

	cancel  context.CancelFunc
	running sync.WaitGroup
	once    sync.Once
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
)

// New starts a client. It looks for the leader in the background; acquisitions wait until then.
func New(cfg Config) (*Locker, error) {
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.Clock, cfg.Log = cmp.Or(cfg.Clock, clock.System()), cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	l := &Locker{
		options: cfg.Options, client: cfg.Client, clock: cfg.Clock, log: cfg.Log,
		session: newSession(cfg.Options.Lease), cancel: cancel,
	}
	l.running.Go(func() { l.connect(ctx, cfg.Servers, cfg.Seed.Child("raftlock "+cfg.Client).Rand()) })
	l.running.Go(func() { l.maintain(ctx) })
	return l, nil
}

// MessagesSent counts requests and answers, including repeats but not renewals.
func (l *Locker) MessagesSent() uint64 { return l.messages.Load() }

// Acquire implements [locks.Locker].
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	c := &claim{locker: l, resource: resource, decided: make(chan struct{}), lost: make(chan struct{})}
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return nil, fmt.Errorf("acquire %s: %w", resource, locks.ErrClosed)
	}
	l.session.acquire(c)
	l.wakeSender()
	l.mu.Unlock()
	select {
	case <-c.decided:
	case <-ctx.Done():
		l.abandon(c)
	}
	if c.held {
		return c, nil
	}
	err := fmt.Errorf("acquire %s: %w", resource, c.err)
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return nil, err
}

// cancelWait bounds the wait for the service to confirm that an acquisition was cancelled.
const cancelWait = 250 * time.Millisecond

// abandon cancels a claim whose caller waits no longer. When it returns, the claim is decided.
func (l *Locker) abandon(c *claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.isDecided() {
		return
	}
	if l.session.forgetUnsent(c) {
		c.fail(fmt.Errorf("%w: the service was not reached: %w", locks.ErrNotAcquired, locks.ErrUnavailable))
		return
	}
	r := l.session.release(c.seq)
	l.wakeSender()
	l.mu.Unlock()
	late, stop := clock.After(l.clock, cancelWait)
	defer stop()
	select {
	case <-r.answered:
	case <-c.decided: // by Close
	case <-late:
	}
	l.mu.Lock()
	if r.outcome == "" {
		c.fail(fmt.Errorf("%w: the service has not confirmed in %s that the wait was cancelled: %w",
			locks.ErrUnknown, cancelWait, locks.ErrUnavailable))
	} else {
		c.fail(locks.ErrNotAcquired)
	}
}

// closeWait bounds the wait of Close for the service to confirm the session's end.
const closeWait = 300 * time.Millisecond

// Close implements [locks.Locker]. It ends the session at the service, which then frees all claims of
// the session. If the service cannot be reached, that happens when the lease expires.
func (l *Locker) Close() error {
	l.once.Do(func() {
		l.mu.Lock()
		l.closing = true
		confirmed := l.session.id == 0
		if !confirmed {
			end := l.session.ask(&wire.Request{Kind: wire.Close})
			l.wakeSender()
			l.mu.Unlock()
			_, confirmed = clock.Await(l.clock, closeWait, end.answered)
			l.mu.Lock()
		}
		l.session.abort(confirmed)
		l.mu.Unlock()
		l.cancel()
		l.running.Wait()
	})
	return nil
}

// claim is one call of Acquire until its end at the service is known: first a wait, then
// the lease. The Locker's mutex guards all fields that change.
type claim struct {
	locker   *Locker
	seq      uint64 // the number of its acquire
	resource string
	token    uint64 // 0 while it waits
	ending   bool   // its release was requested

	decided chan struct{} // closed when held or err is set
	held    bool          // its caller has the lease
	err     error
	lost    chan struct{}

	release locks.ReleaseOnce
}

var _ locks.Lease = (*claim)(nil)

func (c *claim) isDecided() bool { return c.held || c.err != nil }

func (c *claim) fail(err error) {
	if !c.isDecided() {
		c.err = err
		close(c.decided)
	}
}

// lose closes Lost if the claim holds. It reports whether it did.
func (c *claim) lose() (held bool) {
	held = c.held && !c.ending && !signals.Closed(c.lost)
	if held {
		close(c.lost)
	}
	return held
}

// Token implements [locks.Lease]: the index of the log entry of the grant.
func (c *claim) Token() (locks.Token, bool) { return locks.Token(c.token), true }

// Expires implements [locks.Lease]: the moment at which Lost is closed if the
// session is not renewed before.
func (c *claim) Expires() (time.Time, bool) {
	l := c.locker
	l.mu.Lock()
	defer l.mu.Unlock()
	if signals.Closed(c.lost) {
		return l.clock.Now(), true
	}
	return l.session.end(), true
}

// Lost implements [locks.Lease].
func (c *claim) Lost() <-chan struct{} { return c.lost }

// Release implements [locks.Lease]. It returns when a quorum has committed the
// release, and at the latest when the lease is over. When ctx or the lease ends first,
// the release goes on in the background.
func (c *claim) Release(ctx context.Context) error {
	return c.release.Do(c.resource, func() error { return c.releaseOnce(ctx) })
}

func (c *claim) releaseOnce(ctx context.Context) error {
	l := c.locker
	l.mu.Lock()
	defer l.mu.Unlock()
	if signals.Closed(c.lost) {
		return locks.ErrNotHeld
	}
	over, stop := clock.After(l.clock, l.session.end().Sub(l.clock.Now()))
	defer stop()
	r := l.session.release(c.seq)
	l.wakeSender()
	l.mu.Unlock()
	why := locks.ErrUnavailable
	select {
	case <-r.answered:
	case <-ctx.Done():
		why = ctx.Err()
	case <-over:
	}
	l.mu.Lock()
	if l.closing {
		why = locks.ErrClosed
	}
	switch r.outcome {
	case wire.Released:
		return nil
	case wire.NotHeld:
		return locks.ErrNotHeld
	default: // no answer, or only that the session has ended
		return fmt.Errorf("%w: %w", locks.ErrUnknown, why)
	}
}

// session is the client's side of one session. The Locker's mutex guards it.
type session struct {
	lease time.Duration
	id    uint64 // 0 until the service has opened it
	// until is the moment up to which the service surely keeps the session, counted from
	// when the last answered request was sent.
	until time.Time

	next     uint64            // the number of the next request
	requests []*request        // unanswered, in ascending order
	sent     int               // how many of them the current stream has sent
	claims   map[uint64]*claim // by the number of their acquire
	renewing bool              // a renewal is among the requests
}

// request is a request, until it is answered.
type request struct {
	message  *wire.Request
	sentAt   time.Time // first sent; zero before
	answered chan struct{}
	outcome  wire.Outcome // "" until answered
}

func newSession(lease time.Duration) *session {
	return &session{lease: lease, next: 1, claims: map[uint64]*claim{}}
}

func (s *session) ask(message *wire.Request) *request {
	message.Seq = s.next
	s.next++
	r := &request{message: message, answered: make(chan struct{})}
	s.requests = append(s.requests, r)
	return r
}

func (s *session) acquire(c *claim) {
	c.seq = s.ask(&wire.Request{Kind: wire.Acquire, Resource: c.resource}).message.Seq
	s.claims[c.seq] = c
}

func (s *session) release(seq uint64) *request {
	s.claims[seq].ending = true
	return s.ask(&wire.Request{Kind: wire.Release, Claim: seq})
}

// renew requests a renewal, unless one is pending, if the last answered request was sent
// more than a third of the lease ago.
func (s *session) renew(now time.Time) (asked bool) {
	asked = !s.renewing && now.After(s.until.Add(-s.lease*2/3))
	if asked {
		s.renewing = true
		s.ask(&wire.Request{Kind: wire.Renew})
	}
	return asked
}

// forgetUnsent drops a claim whose request was never sent. It reports whether it did.
func (s *session) forgetUnsent(c *claim) bool {
	i, waits := s.find(c.seq)
	if !waits || !s.requests[i].sentAt.IsZero() {
		return false
	}
	s.requests = slices.Delete(s.requests, i, i+1)
	delete(s.claims, c.seq)
	return true
}

func (s *session) find(seq uint64) (at int, waits bool) {
	return slices.BinarySearchFunc(s.requests, seq, func(r *request, seq uint64) int {
		return cmp.Compare(r.message.Seq, seq)
	})
}

// frame returns the requests that the stream has not sent yet.
func (s *session) frame(now time.Time) wire.ClientFrame {
	frame := wire.ClientFrame{Floor: s.next} // the smallest unanswered number
	if len(s.requests) > 0 {
		frame.Floor = s.requests[0].message.Seq
	}
	for _, r := range s.requests[s.sent:] {
		if r.sentAt.IsZero() {
			r.sentAt = now
		}
		frame.Requests = append(frame.Requests, *r.message)
	}
	s.sent = len(s.requests)
	return frame
}

// answer handles an answer, and returns the claim that it grants, or nil.
func (s *session) answer(a wire.Answer) *claim {
	if i, waits := s.find(a.Seq); waits {
		r := s.requests[i]
		s.requests = slices.Delete(s.requests, i, i+1)
		s.sent = max(s.sent-1, 0)
		s.extend(r.sentAt)
		r.outcome = a.Outcome
		close(r.answered)
		switch r.message.Kind {
		case wire.Renew:
			s.renewing = false
		case wire.Release:
			delete(s.claims, r.message.Claim)
		default:
		}
	}
	if c := s.claims[a.Seq]; a.Outcome == wire.Granted && c != nil && c.token == 0 && !c.ending {
		return c
	}
	return nil
}

// extend moves the session's end after the answer to a request that was sent at sentAt.
func (s *session) extend(sentAt time.Time) {
	if until := sentAt.Add(s.lease); until.After(s.until) {
		s.until = until
	}
}

// margin is how much earlier than the service the client gives up. It allows for clock drift,
// and for the time in which a holder notices that Lost is closed.
func (s *session) margin() time.Duration { return s.lease/20 + 5*time.Millisecond }

// end is the moment at which the client gives up the session's leases, unless it renews before.
func (s *session) end() time.Time { return s.until.Add(-s.margin()) }

// alive reports whether the service surely keeps the session.
func (s *session) alive(now time.Time) bool { return now.Before(s.end()) }

// abort ends all claims at the client. confirmed says that the service has ended the session.
func (s *session) abort(confirmed bool) {
	why, released := locks.ErrUnknown, wire.Outcome("")
	if confirmed {
		why, released = locks.ErrNotAcquired, wire.Released
	}
	s.settle(released, released)
	for _, c := range s.claims {
		c.fail(fmt.Errorf("%w: %w", why, locks.ErrClosed))
		c.lose()
	}
}

// settle gives all requests an outcome: one for those that were sent, another for the others.
func (s *session) settle(sent, unsent wire.Outcome) {
	for _, r := range s.requests {
		if r.outcome = sent; r.sentAt.IsZero() {
			r.outcome = unsent
		}
		close(r.answered)
	}
	s.requests = nil
}

// succeed makes the next session after the service has ended this one: held claims are lost,
// and waiting ones move on. An unsent release came too late (NotHeld); a sent one may have freed
// the resource, so it is unknown.
func (s *session) succeed() *session {
	next := newSession(s.lease)
	s.settle(wire.NoSession, wire.NotHeld)
	for _, seq := range slices.Sorted(maps.Keys(s.claims)) {
		c := s.claims[seq]
		c.lose()
		if !c.isDecided() && !c.ending {
			next.acquire(c)
		}
	}
	return next
}
