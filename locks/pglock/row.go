package pglock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"locklab/internal/signals"
	"locklab/locks"
)

// row is a lease in the resource's row. It keeps no connection. Its term counts from its request.
type row struct {
	grant
	owner string
}

var _ locks.Lease = (*row)(nil)

// The statements of a lease. It expires by the server's clock.
const (
	takeRow = "UPDATE public.locklab_locks SET owner = $2, fence = fence + 1, expires = now() + $3 " +
		"WHERE resource = $1 AND expires < now() RETURNING fence"
	renewRow = "UPDATE public.locklab_locks SET expires = now() + $4 " +
		"WHERE resource = $1 AND owner = $2 AND fence = $3 AND expires > now()"
	releaseRow = "UPDATE public.locklab_locks SET expires = '-infinity', owner = NULL " +
		"WHERE resource = $1 AND owner = $2 AND fence = $3"
)

// validity is the lease time at the holder, counted from its request: a little less than at the server.
func (o Options) validity() time.Duration { return o.TTL - o.TTL/20 - 5*time.Millisecond }

func (l *Locker) tryLease(ctx context.Context, resource string) (locks.Lease, error) {
	r := &row{grant: l.newGrant(resource), owner: rand.Text()}
	asked := l.clock.Now()
	made, err := r.take(ctx)
	switch {
	case made:
		return l.tryLease(ctx, resource)
	case err != nil:
		return nil, err
	}
	r.Term = locks.NewTerm(l.clock, asked.Add(l.options.validity()))
	if ctx.Err() == nil && !r.IsLost() && l.calls.Go(r.keep) {
		return r, nil
	}
	r.End()
	if err := r.clear(ctx); err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return nil, fmt.Errorf("granted too late: %w", err)
	}
	return nil, errors.New("granted too late")
}

// take takes the row if it is free, and returns errBusy if not. If it had to make the row, the row is
// still free.
func (r *row) take(ctx context.Context) (made bool, err error) {
	c, err := r.locker.asking(ctx, takeRow)
	if err != nil {
		return false, err
	}
	defer c.Release()
	err = c.QueryRow(ctx, takeRow, r.resource, r.owner, r.locker.options.TTL).Scan(&r.token)
	if !errors.Is(err, pgx.ErrNoRows) {
		return false, judge(ctx, c, err, true)
	}
	if made, err = makeRow(ctx, c, r.resource); !made && err == nil {
		err = errBusy
	}
	return made, err
}

// change runs a statement on the lease's row. It returns ErrNotHeld if the row is no longer the lease's.
func (r *row) change(ctx context.Context, sql string, more ...any) error {
	c, err := r.locker.asking(ctx, sql)
	if err != nil {
		return err
	}
	defer c.Release()
	tag, err := c.Exec(ctx, sql, append([]any{r.resource, r.owner, r.token}, more...)...)
	if err == nil && tag.RowsAffected() == 0 {
		return locks.ErrNotHeld
	}
	return judge(ctx, c, err, true)
}

// clear frees the row. Its errors are ErrNotHeld and ErrUnknown.
func (r *row) clear(ctx context.Context) error {
	err := r.locker.quietly(ctx, func(ctx context.Context) error { return r.change(ctx, releaseRow) })
	if err != nil && !errors.Is(err, locks.ErrNotHeld) {
		return fmt.Errorf("%w: %w", locks.ErrUnknown, err)
	}
	return err
}

// Release waits for the answer for Options.Timeout, or twice that if another statement runs, even if ctx is done.
func (r *row) Release(ctx context.Context) error { return r.free(ctx, r.clear) }

// keep renews the lease until it is released or lost.
func (r *row) keep() {
	defer close(r.ended)
	l := r.locker
	due := make(chan struct{}, 1)
	renew := l.clock.AfterFunc(l.options.TTL/3, func() { signals.Wake(due) })
	defer renew.Stop()
	for {
		select {
		case <-r.freed: // by Release
			return
		case <-l.calls.Open().Done():
			r.Lose()
			_ = r.clear(context.Background()) // no caller waits for the result
			return
		case <-r.Lost():
			return
		case <-due:
		}
		asked, left := l.clock.Now(), r.left()
		next := l.options.TTL / 3
		ctx, cancel := context.WithTimeout(context.Background(), min(left, l.options.Timeout))
		err := r.change(ctx, renewRow, l.options.TTL)
		cancel()
		switch {
		case errors.Is(err, locks.ErrNotHeld):
			r.Lose()
		case err != nil:
			next = min(l.options.Timeout/10, r.left())
		default:
			r.Extend(asked.Add(l.options.validity()))
		}
		renew.Reset(next)
	}
}

// left returns the rest of the lease.
func (r *row) left() time.Duration {
	until, _ := r.Expires()
	return until.Sub(r.locker.clock.Now())
}
