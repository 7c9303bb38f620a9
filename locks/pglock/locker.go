package pglock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
)

// Config configures a client.
type Config struct {
	// URL names the server and the database, as in postgres://user@host:5432/database.
	URL     string
	Options Options
	Clock   clock.Clock // nil is the system's
	Seed    seed.Seed   // draws the pauses of waiters for a lease
}

// Locker is one client of a PostgreSQL server.
type Locker struct {
	options Options
	clock   clock.Clock
	pool    *pgxpool.Pool
	try     func(ctx context.Context, resource string) (locks.Lease, error)
	calls   *locks.Calls

	mu   sync.Mutex
	rand *rand.Rand
}

var _ locks.Locker = (*Locker)(nil)

// New returns a client. It dials at its first use.
func New(cfg Config) (*Locker, error) {
	if err := cfg.Options.validate(); err != nil {
		return nil, err
	}
	pool, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("postgres: %w: %w", err, locks.ErrInvalid)
	}
	pool.MaxConns = int32(cfg.Options.Conns) //nolint:gosec // at most 1000
	limit(pool.ConnConfig, cfg.Options.Timeout)
	// These override the settings of the server, the database and the user: all clients must encode names alike,
	// and a grant must be on disk before its answer, unless the option says off.
	settings := pool.ConnConfig.RuntimeParams
	settings["client_encoding"], settings["synchronous_commit"] = "UTF8", cfg.Options.Commit
	if cfg.Options.Variant != Lease {
		settings["lock_timeout"] = fmt.Sprint(cfg.Options.LockTimeout.Milliseconds())
		pool.AfterConnect = skipTokens
	}
	l := &Locker{
		options: cfg.Options, clock: cmp.Or(cfg.Clock, clock.System()), calls: locks.NewCalls(),
		rand: cfg.Seed.Child("postgres").Rand(),
	}
	l.try = map[string]func(context.Context, string) (locks.Lease, error){
		Row: rowLock().of(l), Advisory: advisoryLock().of(l), Lease: l.tryLease,
	}[cfg.Options.Variant]
	if l.pool, err = pgxpool.NewWithConfig(context.Background(), pool); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return l, nil
}

// limit bounds the waits of pgx on a silent link. When a statement's context ends, pgx sends a
// cancel request over a new connection, and waits up to 15 s for the server to hang up. Meanwhile the
// connection counts as one of the pool's, and the pool's Close waits for it. limit bounds each step.
func limit(cfg *pgx.ConnConfig, limit time.Duration) {
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		// The deadline ends a connection that becomes no session, such as that of a cancel request.
		return limited{conn, limit}, conn.SetDeadline(clock.System().Now().Add(limit))
	}
	cfg.AfterConnect = func(_ context.Context, c *pgconn.PgConn) error { return c.Conn().SetDeadline(time.Time{}) }
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: limit}
	}
}

// limited is a connection whose deadlines are never beyond the limit. Statements have none: pgx sets a
// deadline only after a context has ended.
type limited struct {
	net.Conn
	limit time.Duration
}

// SetDeadline sets the earlier of t and the limit.
func (c limited) SetDeadline(t time.Time) error {
	if latest := clock.System().Now().Add(c.limit); t.After(latest) {
		t = latest
	}
	return c.Conn.SetDeadline(t)
}

// skipTokens makes a new session draw more tokens than a crash of the server can have lost. Tokens drawn in
// open transactions may not be on disk. At most 512 sessions existed before the crash, and each lost at most
// 33 tokens, which PostgreSQL logs at once.
func skipTokens(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SELECT count(nextval('public.locklab_fence')) FROM generate_series(1, 512 * 33)")
	if server := new(pgconn.PgError); errors.As(err, &server) && server.Code == undefinedTable {
		return nil // no token was ever drawn
	}
	return err
}

var (
	// errBusy says that another client holds.
	errBusy = errors.New("postgres: held by another client")
	// errExhausted says that holders and waiters use every connection.
	errExhausted = fmt.Errorf("postgres: all connections are in use: %w", locks.ErrUnavailable)
)

// Acquire implements [locks.Locker]. It tries until ctx ends, but gives up after Options.Timeout
// if all connections are in use. If the server is silent when ctx ends, it returns up to about three times
// Options.Timeout later.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	return l.calls.Direct(ctx, resource, func(ctx context.Context) (locks.Lease, error) {
		for {
			lease, err := l.try(ctx, resource)
			if err == nil || errors.Is(err, locks.ErrUnknown) {
				return lease, err
			}
			over := ctx.Err() != nil || errors.Is(err, errExhausted)
			if !over && (!errors.Is(err, errBusy) || l.options.Variant == Lease) {
				over = clock.Sleep(ctx, l.delay()) != nil
			}
			if over {
				return nil, fmt.Errorf("%w: %w", locks.ErrNotAcquired, err)
			}
		}
	})
}

// delay draws a pause with the mean Options.Delay.
func (l *Locker) delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.options.Delay/2 + time.Duration(l.rand.Int64N(int64(l.options.Delay)))
}

// asking returns a connection on which the statements are prepared. If it fails, no lock was requested,
// so none can have been granted.
func (l *Locker) asking(ctx context.Context, statements ...string) (*pgxpool.Conn, error) {
	wait, cancel := context.WithTimeout(ctx, l.options.Timeout)
	defer cancel()
	c, err := l.pool.Acquire(wait)
	if err != nil && ctx.Err() == nil && wait.Err() != nil && int(l.pool.Stat().AcquiredConns()) >= l.options.Conns {
		return nil, fmt.Errorf("%w (%d)", errExhausted, l.options.Conns)
	} else if err != nil {
		return nil, fmt.Errorf("connect: %w: %w", err, locks.ErrUnavailable)
	}
	for _, sql := range statements {
		if _, err := c.Conn().Prepare(ctx, sql, sql); err != nil {
			defer c.Release()
			return nil, fmt.Errorf("prepare: %w", judge(ctx, c, err, false))
		}
	}
	return c, nil
}

// schema creates the tables when a statement misses them, one client at a time. All statements name the
// schema public, since search_path differs between users: clients must find the same tables.
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

// judge classifies the error of a statement; may says that the statement may change the holder.
// It creates missing tables for the next attempt.
func judge(ctx context.Context, c *pgxpool.Conn, err error, may bool) error {
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

// makeRow adds a free row, which grants nothing, and reports whether it was missing.
func makeRow(ctx context.Context, c *pgxpool.Conn, resource string) (made bool, err error) {
	tag, err := c.Exec(ctx, "INSERT INTO public.locklab_locks (resource) VALUES ($1) ON CONFLICT DO NOTHING", resource)
	if err = judge(ctx, c, err, false); err != nil {
		err = fmt.Errorf("make the row: %w", err)
	}
	return tag.RowsAffected() > 0, err
}

// quietly cleans up after a call, whose context may have ended.
func (l *Locker) quietly(ctx context.Context, clean func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.options.Timeout)
	defer cancel()
	return clean(ctx)
}

// Close implements [locks.Locker]. It waits up to Options.Timeout for each answer of the server that
// ends a call or a lease: in total about five times that if the server is silent.
func (l *Locker) Close() error {
	l.calls.Stop()
	l.calls.Wait()
	l.pool.Close()
	return nil
}

// grant is the common part of all leases. A goroutine renews or watches it until it is released or lost.
type grant struct {
	*locks.Term // lost when the lease expires or is taken, when the session does not answer, and by Close

	locker   *Locker
	resource string
	token    int64
	freed    chan struct{} // closed by Release
	ended    chan struct{} // closed when the goroutine has ended
	release  locks.ReleaseOnce
}

func (l *Locker) newGrant(resource string) grant {
	return grant{locker: l, resource: resource, freed: make(chan struct{}), ended: make(chan struct{})}
}

// Token returns a value of the sequence, drawn when the lock was held, or the row's counter.
func (g *grant) Token() (locks.Token, bool) { return locks.Token(g.token), true } //nolint:gosec // it counts up from 0

// free releases the lease by a function of its kind, unless it was lost.
func (g *grant) free(ctx context.Context, by func(context.Context) error) error {
	return g.release.Do(g.resource, func() error {
		if calls := g.locker.calls; calls.Enter() {
			defer calls.Leave()
			close(g.freed)
		} // else Close has the goroutine free it
		<-g.ended
		if !g.End() {
			return locks.ErrNotHeld
		}
		return by(ctx)
	})
}
