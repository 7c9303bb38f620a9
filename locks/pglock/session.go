package pglock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"locklab/locks"
	"locklab/locks/clock"
)

// unlock ends what a session holds, and says whether it held it.
type unlock func(ctx context.Context, c *pgxpool.Conn) (was bool, err error)

// held is a lock that lives in a session of the server: a transaction's row lock or an
// advisory lock. It owns a connection.
type held struct {
	locker   *Locker
	resource string
	token    int64
	unlock   unlock
	over     atomic.Bool // released or lost
	watch    clock.Timer
	lost     chan struct{}

	mu   sync.Mutex // held by the user of conn
	conn *pgxpool.Conn

	release locks.ReleaseOnce
}

var _ locks.Lease = (*held)(nil)

// hold is the lease of what has just been granted, and was asked for then.
func (l *Locker) hold(
	ctx context.Context, c *pgxpool.Conn, asked time.Time, resource string, token int64, unlock unlock,
) (locks.Lease, error) {
	// The server answers within lock_timeout. A client that stood still may have lost its session since.
	if l.clock.Now().Sub(asked) > l.options.LockTimeout {
		var err error
		if !l.quietly(ctx, func(ctx context.Context) error { err = c.Ping(ctx); return err }) {
			err = l.judge(ctx, c, fmt.Errorf("granted too late: %w", err), true)
			drop(ctx, c, false)
			return nil, err
		}
	}
	h := &held{
		locker: l, resource: resource, token: token, unlock: unlock, conn: c, lost: make(chan struct{}),
	}
	h.mu.Lock()
	h.watch = clock.System().AfterFunc(l.options.Timeout/watches, h.look)
	h.mu.Unlock()
	if l.keep(h) {
		return h, nil
	}
	h.over.Store(true)
	if _, clean, _ := h.end(ctx); !clean { // the session may hold on to it
		return nil, fmt.Errorf("%w: %w", locks.ErrUnknown, locks.ErrClosed)
	}
	return nil, locks.ErrClosed
}

// end unlocks and gives the connection back.
func (h *held) end(ctx context.Context) (was, clean bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watch.Stop()
	clean = h.locker.quietly(ctx, func(ctx context.Context) error {
		was, err = h.unlock(ctx, h.conn)
		return err
	})
	drop(ctx, h.conn, clean)
	return was, clean, err
}

// watches is how often a holder asks in a Timeout whether its session is there: the server may end it, and
// a link that carries nothing says nothing.
const watches = 4

func (h *held) look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over.Load():
	case h.locker.quietly(context.Background(), h.conn.Ping):
		h.watch.Reset(h.locker.options.Timeout / watches)
	case !h.over.Swap(true):
		close(h.lost)
		h.locker.forget(h)
		drop(context.Background(), h.conn, false)
	}
}

// The statements of locks that live in sessions. The token is drawn once the lock is held: what
// locks is an inner query, and comes first.
const (
	beginRow = "BEGIN"
	lockRow  = "SELECT nextval('public.locklab_fence') " +
		"FROM (SELECT FROM public.locklab_locks WHERE resource = $1 FOR UPDATE) AS locked"
	unlockAdvisory = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
	lockAdvisory   = "WITH locked AS MATERIALIZED (SELECT pg_advisory_lock(hashtextextended($1, 0))) " +
		"SELECT nextval('public.locklab_fence') FROM locked"
)

// tryRow locks the row.
func (l *Locker) tryRow(ctx context.Context, resource string) (locks.Lease, error) {
	c, err := l.asking(ctx, beginRow, lockRow)
	if err != nil {
		return nil, err
	}
	asked := l.clock.Now()
	var batch pgx.Batch
	batch.Queue(beginRow)
	batch.Queue(lockRow, resource)
	results := c.SendBatch(ctx, &batch)
	_, err = results.Exec()
	var token int64
	if err == nil {
		err = results.QueryRow().Scan(&token)
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err == nil && ctx.Err() == nil {
		return l.hold(ctx, c, asked, resource, token, func(ctx context.Context, c *pgxpool.Conn) (bool, error) {
			_, err := c.Exec(ctx, "COMMIT")
			return true, err
		})
	}
	clean := l.quietly(ctx, func(ctx context.Context) error {
		_, err := c.Exec(ctx, "ROLLBACK")
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) { // there is nothing to lock yet
		if _, err = l.make(ctx, c, resource); err == nil {
			err = errBusy // try again
		}
		drop(ctx, c, clean)
		return nil, err
	}
	if err == nil {
		err = ctx.Err() // too late
	}
	if clean {
		err = l.judgeSession(ctx, c, err)
	} else {
		err = l.judge(ctx, c, err, true)
	}
	drop(ctx, c, clean)
	return nil, err
}

// tryAdvisory locks the hash of the name.
func (l *Locker) tryAdvisory(ctx context.Context, resource string) (locks.Lease, error) {
	c, err := l.asking(ctx, lockAdvisory, unlockAdvisory)
	if err != nil {
		return nil, err
	}
	asked := l.clock.Now()
	var token int64
	err = c.QueryRow(ctx, lockAdvisory, resource).Scan(&token)
	if err == nil && ctx.Err() == nil {
		return l.hold(ctx, c, asked, resource, token, func(ctx context.Context, c *pgxpool.Conn) (was bool, err error) {
			err = c.QueryRow(ctx, unlockAdvisory, resource).Scan(&was)
			return was, err
		})
	}
	if err == nil {
		err = ctx.Err() // too late
	}
	clean := l.quietly(ctx, func(ctx context.Context) error { // an error does not take the lock from a session
		_, err := c.Exec(ctx, "SELECT pg_advisory_unlock_all()")
		return err
	})
	switch {
	case clean:
		err = l.judgeSession(ctx, c, err)
	case pgconn.SafeToRetry(err):
		err = l.judge(ctx, c, err, true)
	default: // whatever the server said, the session may have got it
		err = fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	}
	drop(ctx, c, clean)
	return nil, err
}

// judgeSession is judge for a session that has confirmed that it holds nothing.
func (l *Locker) judgeSession(ctx context.Context, c *pgxpool.Conn, err error) error {
	var server *pgconn.PgError
	if ctx.Err() == nil && errors.As(err, &server) {
		return l.judge(ctx, c, err, true)
	}
	return err
}

// quietly cleans up after a call, whose context may have ended.
func (l *Locker) quietly(ctx context.Context, clean func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.options.Timeout)
	defer cancel()
	return clean(ctx) == nil
}

// lose is told by Close.
func (h *held) lose() {
	if !h.over.Swap(true) {
		close(h.lost)
		_, _, _ = h.end(context.Background()) // nobody waits for what became of it
	}
}

// Token is the sequence's value that was drawn when the lock was held.
func (h *held) Token() (locks.Token, bool) {
	return locks.Token(h.token), true //nolint:gosec // sequences are positive
}

// Expires says that there is no lease: the lock lives as long as the session.
func (h *held) Expires() (time.Time, bool) { return time.Time{}, false }

// Lost is closed when the session does not answer any more, and by Close.
func (h *held) Lost() <-chan struct{} { return h.lost }

// Release ends the transaction, or unlocks. It waits for the answer for Options.Timeout, also
// when ctx is done.
func (h *held) Release(ctx context.Context) error {
	return h.release.Do(h.resource, func() error { return h.releaseOnce(ctx) })
}

func (h *held) releaseOnce(ctx context.Context) error {
	if h.over.Swap(true) {
		return locks.ErrNotHeld
	}
	h.locker.forget(h)
	was, _, err := h.end(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w: %w", locks.ErrUnknown, locks.ErrUnavailable, err)
	case !was:
		return locks.ErrNotHeld
	}
	return nil
}
