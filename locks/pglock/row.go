package pglock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"locklab/locks"
	"locklab/locks/clock"
)

// row is a lease that lives in the resource's row: it holds no connection.
type row struct {
	locker          *Locker
	resource, owner string
	fence           int64
	lost            chan struct{}

	mu    sync.Mutex
	until time.Time // counted from when it was asked for, less the margin
	over  bool
	timer clock.Timer

	release locks.ReleaseOnce
}

var _ locks.Lease = (*row)(nil)

// The statements of a lease. The server's clock decides when one is over.
const (
	takeRow = "UPDATE public.locklab_locks SET owner = $2, fence = fence + 1, expires = now() + $3 " +
		"WHERE resource = $1 AND expires < now() RETURNING fence"
	renewRow = "UPDATE public.locklab_locks SET expires = now() + $4 " +
		"WHERE resource = $1 AND owner = $2 AND fence = $3 AND expires > now()"
	releaseRow = "UPDATE public.locklab_locks SET expires = '-infinity', owner = NULL " +
		"WHERE resource = $1 AND owner = $2 AND fence = $3"
	makeRow = "INSERT INTO public.locklab_locks (resource) VALUES ($1) ON CONFLICT DO NOTHING"
)

// margin is how much earlier than the server the holder gives up.
func (o Options) margin() time.Duration { return o.TTL/20 + 5*time.Millisecond }

func (l *Locker) tryLease(ctx context.Context, resource string) (locks.Lease, error) {
	r := &row{locker: l, resource: resource, owner: rand.Text(), lost: make(chan struct{})}
	asked := l.clock.Now()
	fence, made, err := l.take(ctx, resource, r.owner)
	switch {
	case made:
		return l.tryLease(ctx, resource)
	case err != nil:
		return nil, err
	}
	r.fence, r.until = fence, asked.Add(l.options.TTL-l.options.margin())
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil && l.clock.Now().Before(r.until) && l.keep(r) {
		r.timer = l.clock.AfterFunc(l.options.TTL/3, r.renew)
		return r, nil
	}
	l.quietly(ctx, func(ctx context.Context) error {
		_, err = l.count(ctx, releaseRow, resource, r.owner, r.fence)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: granted too late: %w", locks.ErrUnknown, err)
	}
	return nil, fmt.Errorf("granted too late: %w", locks.ErrNotAcquired)
}

// take gives the fence of the row if it was free, and errBusy if not. If it made the row, nobody
// has it yet.
func (l *Locker) take(ctx context.Context, resource, owner string) (fence int64, made bool, err error) {
	c, err := l.asking(ctx, takeRow)
	if err != nil {
		return 0, false, err
	}
	defer c.Release()
	err = c.QueryRow(ctx, takeRow, resource, owner, l.options.TTL).Scan(&fence)
	if !errors.Is(err, pgx.ErrNoRows) {
		return fence, false, l.judge(ctx, c, err, true) // with an error it was not committed, or nobody knows
	}
	if made, err = l.make(ctx, c, resource); !made && err == nil {
		err = errBusy
	}
	return 0, made, err
}

// make adds a row that is free, which grants nothing, and says whether it was missing.
func (l *Locker) make(ctx context.Context, c *pgxpool.Conn, resource string) (made bool, err error) {
	tag, err := c.Exec(ctx, makeRow, resource)
	if err = l.judge(ctx, c, err, false); err != nil {
		err = fmt.Errorf("make the row: %w", err)
	}
	return tag.RowsAffected() > 0, err
}

// count runs a statement on the lease's row and says how many rows it changed.
func (l *Locker) count(ctx context.Context, sql string, args ...any) (int64, error) {
	c, err := l.asking(ctx, sql)
	if err != nil {
		return 0, err
	}
	defer c.Release()
	tag, err := c.Exec(ctx, sql, args...)
	return tag.RowsAffected(), l.judge(ctx, c, err, true)
}

// renew moves the end of the lease, or tells that it is over.
func (r *row) renew() {
	l := r.locker
	r.mu.Lock()
	left := r.until.Sub(l.clock.Now())
	r.mu.Unlock()
	if left <= 0 {
		r.lose()
		return
	}
	asked := l.clock.Now()
	guard := l.clock.AfterFunc(left, r.lose) // the library may wait for longer than the context
	defer guard.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), min(left, l.options.Timeout))
	changed, err := l.count(ctx, renewRow, r.resource, r.owner, r.fence, l.options.TTL)
	cancel()
	if err == nil && changed == 0 {
		r.lose()
		return
	}
	next := l.options.TTL / 3
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.until = asked.Add(l.options.TTL - l.options.margin())
	} else {
		next = max(min(l.options.Timeout/10, r.until.Sub(l.clock.Now())), 0)
	}
	if !r.over {
		r.timer.Reset(next)
	}
}

func (r *row) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.end()
	close(r.lost)
	r.locker.forget(r)
	if r.locker.isClosed() {
		r.locker.quietly(context.Background(), func(ctx context.Context) error {
			_, err := r.locker.count(ctx, releaseRow, r.resource, r.owner, r.fence)
			return err
		})
	}
}

func (r *row) end() {
	r.over = true
	r.timer.Stop()
}

// Token is the row's counter.
func (r *row) Token() (locks.Token, bool) { return locks.Token(r.fence), true } //nolint:gosec // it counts up from 0

// Expires is when the lease is over by the time of asking, unless it is renewed before.
func (r *row) Expires() (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.until, true
}

// Lost is closed when the lease is over or somebody else's, and by Close.
func (r *row) Lost() <-chan struct{} { return r.lost }

// Release frees the row. It waits for the answer for Options.Timeout, also when ctx is done.
func (r *row) Release(ctx context.Context) error {
	return r.release.Do(r.resource, func() error { return r.releaseOnce(ctx) })
}

func (r *row) releaseOnce(ctx context.Context) error {
	r.mu.Lock()
	over := r.over
	r.end()
	r.mu.Unlock()
	if over {
		return locks.ErrNotHeld
	}
	r.locker.forget(r)
	var changed int64
	var err error
	r.locker.quietly(ctx, func(ctx context.Context) error {
		changed, err = r.locker.count(ctx, releaseRow, r.resource, r.owner, r.fence)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", locks.ErrUnknown, err)
	case changed == 0:
		return locks.ErrNotHeld
	}
	return nil
}
