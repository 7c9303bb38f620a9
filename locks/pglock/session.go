package pglock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
)

// session is a kind of lock that a session of the server holds.
type session struct {
	statements []string // to prepare
	lock       func(ctx context.Context, c *pgxpool.Conn, resource string) (token int64, err error)
	// unlock reports whether the session held the lock.
	unlock func(ctx context.Context, c *pgxpool.Conn, resource string) (was bool, err error)
	reset  string // a statement that unlocks everything
	keeps  bool   // the session may hold the lock after an error of the server
}

// The token is drawn once the lock is held: the inner query locks, and runs first.
const (
	lockRow = "SELECT nextval('public.locklab_fence') " +
		"FROM (SELECT FROM public.locklab_locks WHERE resource = $1 FOR UPDATE) AS locked"
	lockAdvisory = "WITH locked AS MATERIALIZED (SELECT pg_advisory_lock(hashtextextended($1, 0))) " +
		"SELECT nextval('public.locklab_fence') FROM locked"
	unlockAdvisory = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
)

// rowLock locks the resource's row in a transaction.
func rowLock() *session {
	return &session{
		statements: []string{"BEGIN", lockRow},
		lock: func(ctx context.Context, c *pgxpool.Conn, resource string) (token int64, err error) {
			var batch pgx.Batch
			batch.Queue("BEGIN")
			batch.Queue(lockRow, resource).QueryRow(func(row pgx.Row) error { return row.Scan(&token) })
			err = c.SendBatch(ctx, &batch).Close()
			return token, err
		},
		unlock: func(ctx context.Context, c *pgxpool.Conn, _ string) (bool, error) {
			_, err := c.Exec(ctx, "COMMIT")
			return true, err
		},
		reset: "ROLLBACK",
	}
}

// advisoryLock locks the hash of the name.
func advisoryLock() *session {
	return &session{
		statements: []string{lockAdvisory, unlockAdvisory},
		lock: func(ctx context.Context, c *pgxpool.Conn, resource string) (token int64, err error) {
			err = c.QueryRow(ctx, lockAdvisory, resource).Scan(&token)
			return token, err
		},
		unlock: func(ctx context.Context, c *pgxpool.Conn, resource string) (was bool, err error) {
			err = c.QueryRow(ctx, unlockAdvisory, resource).Scan(&was)
			return was, err
		},
		reset: "SELECT pg_advisory_unlock_all()",
		keeps: true,
	}
}

// of returns the function with which a client tries to get such a lock.
func (s *session) of(l *Locker) func(context.Context, string) (locks.Lease, error) {
	return func(ctx context.Context, resource string) (locks.Lease, error) {
		c, err := l.asking(ctx, s.statements...)
		if err != nil {
			return nil, err
		}
		asked := l.clock.Now()
		token, err := s.lock(ctx, c, resource)
		if err == nil && ctx.Err() == nil {
			return l.hold(ctx, c, asked, resource, token, s)
		}
		unclean := l.quietly(ctx, func(ctx context.Context) error {
			_, err := c.Exec(ctx, s.reset)
			return err
		})
		defer drop(ctx, c, unclean)
		switch {
		case errors.Is(err, pgx.ErrNoRows): // there is nothing to lock yet
			if _, err = makeRow(ctx, c, resource); err == nil {
				err = errBusy // makes Acquire try again
			}
			return nil, err
		case err == nil:
			err = ctx.Err() // too late
		}
		server := errors.As(err, new(*pgconn.PgError))
		switch {
		case unclean == nil && !server:
			return nil, err
		case unclean != nil && server && s.keeps:
			return nil, fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
		}
		return nil, judge(ctx, c, err, true)
	}
}

// drop returns a connection to the pool, or closes it if its session may still hold a lock.
func drop(ctx context.Context, c *pgxpool.Conn, unclean error) {
	if unclean != nil {
		ctx, cancel := context.WithCancel(ctx)
		cancel() // so that Close does not wait
		_ = c.Conn().Close(ctx)
	}
	c.Release()
}

// held is the lease of a lock that a session holds. It owns the session's connection and has no lease time.
type held struct {
	grant
	conn    *pgxpool.Conn
	session *session
}

var _ locks.Lease = (*held)(nil)

// hold makes the lease of a lock that was just granted, and was requested at asked.
func (l *Locker) hold(
	ctx context.Context, c *pgxpool.Conn, asked time.Time, resource string, token int64, s *session,
) (locks.Lease, error) {
	// The server answers within lock_timeout. A client that was paused for longer may have lost its session.
	if l.clock.Now().Sub(asked) > l.options.LockTimeout {
		if err := l.quietly(ctx, c.Ping); err != nil {
			defer drop(ctx, c, err)
			return nil, judge(ctx, c, fmt.Errorf("granted too late: %w", err), true)
		}
	}
	h := &held{grant: l.newGrant(resource), conn: c, session: s}
	h.Term, h.token = locks.NewTerm(l.clock, time.Time{}), token
	if l.calls.Go(h.keep) {
		return h, nil
	}
	if err := h.end(ctx); errors.Is(err, locks.ErrUnknown) { // the session may still hold the lock
		return nil, err
	}
	return nil, locks.ErrClosed
}

// watches is the number of pings per Timeout with which a holder checks its session.
const watches = 4

// keep watches the session until the lock is released or lost.
func (h *held) keep() {
	defer close(h.ended)
	l, ctx := h.locker, context.Background()
	due := make(chan struct{}, 1)
	watch := clock.System().AfterFunc(l.options.Timeout/watches, func() { signals.Wake(due) })
	defer watch.Stop()
	for alive := true; alive; {
		select {
		case <-h.freed: // by Release, which unlocks
			return
		case <-l.calls.Open().Done():
			alive = false
		case <-due:
			alive = l.quietly(ctx, h.conn.Ping) == nil
			watch.Reset(l.options.Timeout / watches)
		}
	}
	h.Lose()
	_ = h.end(ctx) // no caller waits for the result
}

// Release waits for the answer for Options.Timeout, or twice that if another statement runs, even if ctx is done.
func (h *held) Release(ctx context.Context) error { return h.free(ctx, h.end) }

// end unlocks and drops the connection.
func (h *held) end(ctx context.Context) error {
	var was bool
	err := h.locker.quietly(ctx, func(ctx context.Context) (err error) {
		was, err = h.session.unlock(ctx, h.conn, h.resource)
		return err
	})
	drop(ctx, h.conn, err)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	case !was:
		return locks.ErrNotHeld
	}
	return nil
}
