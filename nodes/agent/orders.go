package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/internal/strictjson"
	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/workloads/history"
)

// answerTime is how long a node may take to carry out an order: it stands still, or is
// gone, if it takes longer.
const answerTime = time.Second

// orders are those to one incarnation of a node: see [process.Order].
type orders struct {
	mu      sync.Mutex
	out     io.Writer
	number  uint64
	waiting map[uint64]chan process.Answer
}

// ask sends an order and waits for its answer.
func (o *orders) ask(ctx context.Context, order process.Order) (process.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	answered := make(chan process.Answer, 1)
	o.mu.Lock()
	o.number++
	order.Number = o.number
	o.waiting[order.Number] = answered
	text, err := json.Marshal(order)
	if err == nil {
		_, err = o.out.Write(append(text, '\n')) // orders are few and short: a pipe holds them
	}
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.waiting, order.Number)
	}()
	if err != nil {
		return process.Answer{}, fmt.Errorf("send an order: %w", err)
	}
	select {
	case a := <-answered:
		if a.Error != "" {
			return a, fmt.Errorf("it refuses: %s: %w", a.Error, httpapi.ErrInvalid)
		}
		return a, nil
	case <-ctx.Done():
		return process.Answer{}, fmt.Errorf("it does not answer: %w", ctx.Err())
	}
}

// read takes the answers until the pipe ends.
func (o *orders) read(from io.Reader) {
	lines := newLines(from)
	for lines.Scan() {
		var a process.Answer
		if strictjson.Decode(lines.Bytes(), &a) != nil {
			continue // no answer: the order goes on waiting for its own
		}
		o.mu.Lock()
		if waits := o.waiting[a.Number]; waits != nil {
			delete(o.waiting, a.Number)
			waits <- a // never blocks: one answer into a buffer of one
		}
		o.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, from) // after a line that is too long
}

// points are those that a node can be stopped at.
func points() []string {
	return []string{history.PointAcquiring, history.PointGranted, history.PointReleasing}
}

// pointWait is a pause that waits until the process stops itself at a point.
type pointWait struct {
	askedNS int64
	stopped chan struct{} // closed when it stands still there
}

// pauseAt stops a node when it next comes to a point of its work, and returns once it stands
// still there. One that does not come to it in the time goes on.
func (c *child) pauseAt(ctx context.Context, point string, within time.Duration) (err error) {
	if !c.points || !slices.Contains(points(), point) {
		return fmt.Errorf("pause %s at %q: its role comes to no such point: want a master, and one of %v: %w",
			c.name, point, points(), httpapi.ErrInvalid)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("pause %s at %s: %w", c.name, point, err)
		}
	}()
	if !c.pausing.TryLock() {
		return fmt.Errorf("it is to stop at another point: %w", httpapi.ErrConflict)
	}
	defer c.pausing.Unlock()
	w := &pointWait{clock.Mono(), make(chan struct{})}
	if c.mu.Lock(); c.paused {
		c.mu.Unlock()
		return fmt.Errorf("it stands still: %w", httpapi.ErrConflict)
	}
	c.waits = w
	c.mu.Unlock()

	_, err = c.orders.ask(ctx, process.Order{PauseAt: &point}) // which it may stop before it answers
	if err == nil {
		err = w.wait(ctx, within, c.gone)
	}
	// The node answers none of this while it is about to stop.
	if !signals.Closed(w.stopped) && !signals.Closed(c.gone) {
		if _, silent := c.orders.ask(context.WithoutCancel(ctx), process.Order{PauseAt: new("")}); silent != nil {
			clock.Await(clock.System(), answerTime, w.stopped)
		}
	}
	c.mu.Lock()
	c.waits = nil
	c.mu.Unlock()
	switch {
	case !signals.Closed(w.stopped):
		return err
	case ctx.Err() != nil: // the controller has gone, and may have resumed it before it stopped
		return errors.Join(ctx.Err(), c.resume())
	default:
		return nil
	}
}

// wait returns nil once the process stands still.
func (w *pointWait) wait(ctx context.Context, within time.Duration, gone <-chan struct{}) error {
	timer := clock.System().NewTimer(within)
	defer timer.Stop()
	select {
	case <-w.stopped:
		return nil
	case <-gone:
		return fmt.Errorf("%w: %w", errEnded, httpapi.ErrConflict)
	case <-timer.C():
		return fmt.Errorf("it did not come to that within %v: %w", within, httpapi.ErrConflict)
	case <-ctx.Done():
		return ctx.Err()
	}
}
