package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/local"
)

// Config is what a client needs.
type Config struct {
	Addrs   []string // of all members, as this client dials them
	Options Options
	Clock   clock.Clock // nil is the system's
}

// Locker is one client of an etcd cluster.
type Locker struct {
	options Options
	clock   clock.Clock
	client  *clientv3.Client
	queues  *local.Locker // of this process's callers: a Mutex knows sessions only
	opening chan struct{} // full while a session is being opened
	running sync.WaitGroup
	open    context.Context //nolint:containedctx // of no call: done when Close begins
	close   context.CancelFunc

	mu       sync.Mutex
	closed   bool
	current  *session // that takes claims; nil if there is none
	sessions map[*session]struct{}
}

var _ locks.Locker = (*Locker)(nil)

// New returns a client. It dials in the background.
func New(cfg Config) (*Locker, error) {
	if err := cfg.Options.validate(); err != nil {
		return nil, err
	}
	if len(cfg.Addrs) == 0 {
		return nil, fmt.Errorf("etcd: no addresses: want those of the cluster's members: %w", locks.ErrInvalid)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System()
	}
	l := &Locker{
		options: cfg.Options, clock: cfg.Clock, queues: local.New(), opening: make(chan struct{}, 1),
		sessions: map[*session]struct{}{},
	}
	l.open, l.close = context.WithCancel(context.Background())
	retry := backoff.DefaultConfig
	retry.BaseDelay, retry.MaxDelay = 50*time.Millisecond, time.Second // gRPC's own goes up to two minutes
	var err error
	l.client, err = clientv3.New(clientv3.Config{
		Endpoints: cfg.Addrs, Logger: zap.NewNop(),
		DialKeepAliveTime: 10 * time.Second, DialKeepAliveTimeout: 2 * time.Second, // gRPC allows no less
		DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(l.once), grpc.WithChainStreamInterceptor(led),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: time.Second}),
		},
	})
	if err != nil {
		return nil, fmt.Errorf("etcd: make a client: %w", err)
	}
	return l, nil
}

// Methods of etcd that are asked for in a way of their own.
const (
	transaction = "/etcdserverpb.KV/Txn"
	deletion    = "/etcdserverpb.KV/DeleteRange"
	watch       = "/etcdserverpb.Watch/Watch"
)

// once bounds the time that one member has for an answer; the library then asks another, but not
// for what must not be done twice: a deletion or a guarded write. (A claim can be put twice: it
// is the same key.) A claim or a deletion without an answer may still be applied, now or when its
// connection comes back to life: its session, and with it the name of its keys, is not used again,
// or a later hold could be deleted by it. The deletion with which the recipe ends a wait is not sent: its
// context has no end, and eraseFor deletes the key next, where it is known for how long.
func (l *Locker) once(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method == deletion && claimOf(ctx) == nil {
		return errors.New("etcd: delete: left to eraseFor")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A deadline would be a header of every request, another one each time.
	defer clock.System().AfterFunc(l.options.Timeout, cancel).Stop()
	err := invoke(ctx, method, req, reply, cc, opts...)
	if err == nil || method != transaction && method != deletion {
		return err
	}
	le := claimOf(ctx)
	if le != nil {
		l.retire(le.session)
	}
	if le != nil && method == transaction {
		le.unanswered = true
		return err
	}
	return fmt.Errorf("etcd: no answer: %v", err) //nolint:errorlint // the library must not see whether it can be repeated
}

// led has a member end its watches when it has no leader, as it is told of no deletion then. The
// recipe gives up its place, and the claim begins anew, at the member whose turn it is. (A
// transaction that is refused so would not be asked for again, and all would have the header.)
func led(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if method == watch {
		ctx = clientv3.WithRequireLeader(ctx)
	}
	return open(ctx, desc, cc, method, opts...)
}

// claimKey is where the context of a request for a claim has that claim.
type claimKey struct{}

func claimOf(ctx context.Context) *lease {
	le, _ := ctx.Value(claimKey{}).(*lease)
	return le
}

// Acquire implements [locks.Locker].
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	place, err := l.queues.Acquire(ctx, resource)
	if err != nil {
		return nil, err
	}
	le, err := l.claim(ctx, resource)
	if err != nil {
		_ = place.Release(ctx) // it is in this process
		return nil, fmt.Errorf("acquire %q: %w", resource, withCause(ctx, err))
	}
	le.place = place
	return le, nil
}

// claim gets the lock for this process.
func (l *Locker) claim(ctx context.Context, resource string) (*lease, error) {
	for {
		s, err := l.enter(ctx)
		if err != nil {
			if l.isClosed() {
				return nil, locks.ErrClosed
			}
			if ctx.Err() == nil && l.pause(ctx) == nil {
				continue // nothing was asked for yet
			}
			return nil, err
		}
		le := newLease(l, s, resource)
		if err = le.acquire(ctx); err == nil {
			return le, nil
		}
		if l.isClosed() {
			return nil, fmt.Errorf("%w: %w", err, locks.ErrClosed)
		}
		if ctx.Err() != nil || !errors.Is(err, locks.ErrNotAcquired) || l.pause(ctx) != nil {
			return nil, err
		}
	}
}

// pause is between two tries. Close ends it, and the next try finds that.
func (l *Locker) pause(ctx context.Context) error {
	both, stop := within(ctx, l.open)
	defer stop()
	_ = clock.Sleep(both, l.options.Timeout/10)
	return ctx.Err()
}

// within is a context that also ends with another one.
func within(ctx, other context.Context) (both context.Context, stop func()) {
	both, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(other, cancel)
	return both, func() { forget(); cancel() }
}

func (l *Locker) isClosed() bool {
	return l.open.Err() != nil
}

// begin runs something that Close waits for, unless it is closed.
func (l *Locker) begin(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.running.Go(f)
	return true
}

// Close implements [locks.Locker]. What was held is free at once if etcd can be reached,
// and otherwise when the lease is over.
func (l *Locker) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.close()
	var all []*session
	for s := range l.sessions {
		all = append(all, s)
	}
	l.mu.Unlock()
	err := l.queues.Close()
	var revoking sync.WaitGroup
	for _, s := range all {
		l.lose(s)
		revoking.Go(func() { l.revoke(s) })
	}
	revoking.Wait()
	err = errors.Join(err, l.client.Close())
	l.running.Wait()
	if errors.Is(err, context.Canceled) { // so says the client of every Close
		err = nil
	}
	return err
}
