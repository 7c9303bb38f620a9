package pglock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
)

// Config is what a client needs.
type Config struct {
	// URL names the server and the database, as in postgres://user@host:5432/database.
	URL     string
	Options Options
	Clock   clock.Clock // nil is the system's
	Seed    seed.Seed   // draws how long waiters of lease sleep
}

// Locker is one client of a PostgreSQL server.
type Locker struct {
	options Options
	clock   clock.Clock
	pool    *pgxpool.Pool
	sockets *sockets
	try     func(ctx context.Context, resource string) (locks.Lease, error)
	running sync.WaitGroup // calls and leases
	wakeups atomic.Uint64

	closing context.Context //nolint:containedctx // ends with Close
	close   context.CancelFunc

	mu   sync.Mutex
	rand *rand.Rand
	held map[loser]struct{}
}

// loser is a lease that is told of Close.
type loser interface{ lose() }

var (
	_ locks.Locker        = (*Locker)(nil)
	_ locks.WakeupCounter = (*Locker)(nil)
)

// New returns a client. It dials when it is first needed.
func New(cfg Config) (*Locker, error) {
	if err := cfg.Options.validate(); err != nil {
		return nil, err
	}
	pool, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w: %w", err, locks.ErrInvalid)
	}
	pool.MaxConns = int32(cfg.Options.Conns) //nolint:gosec // at most 1000
	pool.ConnConfig.ConnectTimeout = cfg.Options.Timeout
	// Whatever is set for the server, the database or the user: names of resources are the same bytes to all
	// clients, and what grants is on the server's disk when it is answered.
	settings := pool.ConnConfig.RuntimeParams
	settings["client_encoding"], settings["synchronous_commit"] = "UTF8", "on"
	// A statement whose context ends is cancelled at the server, so that its end is known.
	pool.ConnConfig.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cfg.Options.Timeout}
	}
	if cfg.Options.Variant != Lease {
		settings["lock_timeout"] = fmt.Sprint(cfg.Options.LockTimeout.Milliseconds())
		pool.AfterConnect = skipTokens
	}
	l := &Locker{
		options: cfg.Options, clock: cfg.Clock,
		rand: cfg.Seed.Child("postgres").Rand(), held: map[loser]struct{}{},
	}
	if l.clock == nil {
		l.clock = clock.System()
	}
	l.closing, l.close = context.WithCancel(context.Background())
	l.sockets = newSockets(pool.ConnConfig, cfg.Options.Timeout)
	l.try = map[string]func(context.Context, string) (locks.Lease, error){
		Row: l.tryRow, Advisory: l.tryAdvisory, Lease: l.tryLease,
	}[cfg.Options.Variant]
	if l.pool, err = pgxpool.NewWithConfig(context.Background(), pool); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return l, nil
}

// skipTokens has a session begin by drawing more tokens than a crash of the server can have lost: those that
// are drawn in open transactions need not be on its disk. After a crash all its sessions are new, and by each
// of at most 512 before were lost at most the 33 that PostgreSQL logs at once.
func skipTokens(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SELECT count(nextval('public.locklab_fence')) FROM generate_series(1, 512 * 33)")
	if server := new(pgconn.PgError); errors.As(err, &server) && server.Code == undefinedTable {
		return nil // nobody has drawn one
	}
	return err
}

// errBusy says that somebody else holds.
var errBusy = errors.New("postgres: held by another client")

// Acquire implements [locks.Locker]. It tries until ctx ends; only when all connections
// are in use it gives up, after Options.Timeout.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	if !l.begin() {
		return nil, fmt.Errorf("acquire %q: %w", resource, locks.ErrClosed)
	}
	defer l.running.Done()
	wait, cancel := context.WithCancel(ctx) // Close ends it too
	defer cancel()
	defer context.AfterFunc(l.closing, cancel)() //nolint:contextcheck // two things end the wait
	for {
		lease, err := l.try(wait, resource)
		if err == nil {
			return lease, nil
		}
		again := wait.Err() == nil && !errors.Is(err, locks.ErrUnknown) && !errors.Is(err, errExhausted)
		if again && (!errors.Is(err, errBusy) || l.options.Variant == Lease) {
			again = l.sleep(wait)
		}
		if again {
			l.wakeups.Add(1)
			continue
		}
		err = fmt.Errorf("acquire %q: %w", resource, err)
		if !errors.Is(err, locks.ErrUnknown) {
			err = fmt.Errorf("%w: %w", err, locks.ErrNotAcquired)
		}
		switch {
		case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
			err = fmt.Errorf("%w: %w", err, ctx.Err())
		case ctx.Err() == nil && wait.Err() != nil:
			err = fmt.Errorf("%w: %w", err, locks.ErrClosed)
		}
		return nil, err
	}
}

// Wakeups counts the pauses after which a waiter of the variant lease tried again. The others
// wait in the server, which does not tell: 0.
func (l *Locker) Wakeups() uint64 {
	if l.options.Variant != Lease {
		return 0
	}
	return l.wakeups.Load()
}

func (l *Locker) isClosed() bool { return l.closing.Err() != nil }

// begin has Close wait for the end of a call. It is false if that was called.
func (l *Locker) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isClosed() {
		return false
	}
	l.running.Add(1)
	return true
}

// sleep waits for about the delay. It is false if ctx has ended.
func (l *Locker) sleep(ctx context.Context) bool {
	l.mu.Lock()
	d := l.options.Delay/2 + time.Duration(l.rand.Int64N(int64(l.options.Delay)))
	l.mu.Unlock()
	_, ended := clock.Await(l.clock, d, ctx.Done())
	return !ended
}

// errExhausted says that every connection is in use, by holders and waiters.
var errExhausted = fmt.Errorf("postgres: all connections are in use: %w", locks.ErrUnavailable)

// asking takes a connection on which the statements are prepared: while that fails nothing has
// been asked of the server, so nothing can have been granted.
func (l *Locker) asking(ctx context.Context, statements ...string) (*pgxpool.Conn, error) {
	c, err := l.conn(ctx)
	if err != nil {
		return nil, err
	}
	for _, sql := range statements {
		if _, err := c.Conn().Prepare(ctx, sql, sql); err != nil {
			defer c.Release()
			return nil, fmt.Errorf("prepare: %w", l.judge(ctx, c, err, false))
		}
	}
	return c, nil
}

// conn takes a connection.
func (l *Locker) conn(ctx context.Context) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	c, err := l.pool.Acquire(wait)
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() == nil && wait.Err() != nil && int(l.pool.Stat().AcquiredConns()) >= l.options.Conns:
		return nil, fmt.Errorf("%w (%d)", errExhausted, l.options.Conns)
	}
	return nil, fmt.Errorf("connect: %w: %w", err, locks.ErrUnavailable)
}

// schema is made when it is missed, by one client at a time. All statements name the schema of what they
// use: search_path is a user's own, and clients that do not find the same tables do not exclude each other.
const schema = `
SELECT pg_advisory_xact_lock(hashtextextended('locklab schema', 0));
CREATE TABLE IF NOT EXISTS public.locklab_locks (
	resource text PRIMARY KEY, fence bigint NOT NULL DEFAULT 0,
	owner text, expires timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 50);
CREATE SEQUENCE IF NOT EXISTS public.locklab_fence;`

const (
	undefinedTable   = "42P01"
	lockNotAvailable = "55P03"
	queryCanceled    = "57014"
)

// judge says what an error of a statement means that may change who holds, or surely does not.
// What was missing is made for the next try.
func (l *Locker) judge(ctx context.Context, c *pgxpool.Conn, err error, may bool) error {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &server) && (!may || pgconn.SafeToRetry(err)):
		return fmt.Errorf("%w: %w", err, locks.ErrUnavailable)
	case server == nil:
		return fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	case may && (server.Code == lockNotAvailable || server.Code == queryCanceled):
		return errBusy
	case server.Code == undefinedTable:
		if _, failed := c.Conn().PgConn().Exec(ctx, schema).ReadAll(); failed != nil {
			return fmt.Errorf("make the tables: %w", failed)
		}
	}
	return err
}

// drop returns a connection to the pool, or closes it if anything may be left in its session.
func drop(ctx context.Context, c *pgxpool.Conn, clean bool) {
	if !clean {
		ctx, cancel := context.WithCancel(ctx)
		cancel() // nobody waits for a good-bye
		_ = c.Conn().Close(ctx)
	}
	c.Release()
}

// keep has the lease told of Close. It is false if that was called.
func (l *Locker) keep(le loser) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isClosed() {
		return false
	}
	l.held[le] = struct{}{}
	return true
}

func (l *Locker) forget(le loser) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, le)
}

// Close implements [locks.Locker]. It waits for the server's answers to what ends calls and
// leases, each for up to Options.Timeout: all in all for up to about four times that, 2 s by
// default, when the server says nothing. Then it hangs up.
func (l *Locker) Close() error {
	l.mu.Lock()
	if l.isClosed() {
		l.mu.Unlock()
		return nil
	}
	l.close()
	held := l.held
	l.held = map[loser]struct{}{}
	l.mu.Unlock()
	for le := range held {
		l.running.Go(le.lose)
	}
	l.running.Wait()
	goodbye := clock.System().AfterFunc(l.options.Timeout, l.sockets.close)
	l.pool.Close()
	goodbye.Stop()
	l.sockets.close()
	return nil
}
