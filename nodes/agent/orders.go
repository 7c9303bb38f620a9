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

// maxPointWait is how long a node may be given to come to a point of its work.
const maxPointWait = time.Minute

// answerTime is how long an own node may take to carry out an order: it stands still, or is
// gone, if it takes longer.
const answerTime = time.Second

// orders are those to one incarnation of an own node: see [process.Order].
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
	if o.waiting == nil {
		o.waiting = map[uint64]chan process.Answer{}
	}
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
			continue // no answer: who asked goes on waiting
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

// ask has an own node that runs carry out an order.
func (a *Agent) ask(ctx context.Context, n *node, order process.Order) (process.Answer, error) {
	c := n.running()
	if c == nil || c.orders == nil {
		return process.Answer{}, fmt.Errorf("order node %s: it does not run: %w", n.name, httpapi.ErrConflict)
	}
	answer, err := c.orders.ask(ctx, order)
	if err != nil {
		return answer, fmt.Errorf("order node %s: %w", n.name, err)
	}
	return answer, nil
}

// points are those that a node can be stopped at.
func points() []string {
	return []string{history.PointAcquiring, history.PointGranted, history.PointReleasing}
}

// PauseAt stops a node when it next comes to a point of its work, and returns once it stands
// still there. One that does not come to it in the time goes on.
func (a *Agent) PauseAt(ctx context.Context, name, point string, within time.Duration) error {
	n, err := a.node(name)
	if err != nil {
		return err
	}
	if !n.role.Points || !slices.Contains(points(), point) {
		return fmt.Errorf("pause %s at %q: the role %s comes to no such point: want a master, and one of %v: %w", name, point, n.role.Name, points(), httpapi.ErrInvalid)
	}
	c := n.running()
	if c == nil {
		return fmt.Errorf("pause %s: it does not run: %w", name, httpapi.ErrConflict)
	}
	s, err := c.await(point)
	if err != nil {
		return err
	}
	err = c.standAt(ctx, s, within)
	if err == nil && ctx.Err() == nil {
		return nil
	}
	if err != nil {
		err = fmt.Errorf("pause %s at %s: %w", name, point, err)
	}
	if kept := c.forget(context.WithoutCancel(ctx), s); kept != nil {
		return errors.Join(err, kept)
	}
	switch {
	case !signals.Closed(s.stopped):
		return err
	case ctx.Err() == nil:
		return nil // at the last moment
	default: // who asked for it has gone, and may have seen to it that all goes on before it stopped
		return errors.Join(ctx.Err(), c.letGo())
	}
}

// stopAt is that a process is to stop itself at a point.
type stopAt struct {
	point   string
	askedNS int64
	passed  chan struct{} // closed when it has said that it came to it
	stopped chan struct{} // closed when it stands still there
	taken   chan struct{} // closed when it was taken back: it will not stop

	forgetting sync.Mutex
}

// await says that the process is going to stop itself.
func (c *child) await(point string) (*stopAt, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused || c.awaited != nil || c.orders == nil {
		return nil, fmt.Errorf("pause %s: it stands still, or is to stop at another point: %w", c.Name, httpapi.ErrConflict)
	}
	c.awaited = &stopAt{
		point: point, askedNS: clock.Mono(),
		passed: make(chan struct{}), stopped: make(chan struct{}), taken: make(chan struct{}),
	}
	return c.awaited, nil
}

// standAt asks for the stop and returns once the process stands still there.
func (c *child) standAt(ctx context.Context, s *stopAt, within time.Duration) error {
	if _, err := c.orders.ask(ctx, process.Order{PauseAt: &s.point}); err != nil {
		return err // it may have come to it before it could answer
	}
	timer := clock.System().NewTimer(within)
	defer timer.Stop()
	select {
	case <-s.stopped:
		return nil
	case <-s.taken:
		return fmt.Errorf("it was resumed before it came to that: %w", httpapi.ErrConflict)
	case <-c.gone:
		return fmt.Errorf("it has ended: %w", httpapi.ErrConflict)
	case <-timer.C():
		return fmt.Errorf("it did not come to that within %v: %w", within, httpapi.ErrConflict)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// forget takes the stop back. When it returns without an error the process has stopped, or
// will not: it answers none of this while it is about to. After an error it still may, and
// [child.resume] tries again.
func (c *child) forget(ctx context.Context, s *stopAt) error {
	s.forgetting.Lock()
	defer s.forgetting.Unlock()
	if signals.Closed(s.stopped) || signals.Closed(s.taken) || c.isGone() {
		return nil
	}
	no := ""
	answered := make(chan error, 1)
	go func() {
		_, err := c.orders.ask(ctx, process.Order{PauseAt: &no})
		answered <- err
	}()
	var err error
	select {
	case err = <-answered:
	case <-s.stopped:
		return nil
	}
	if err != nil { // that it stopped will be noticed, if it is not gone
		timer := clock.System().NewTimer(answerTime)
		defer timer.Stop()
		select {
		case <-s.stopped:
			return nil
		case <-c.gone:
			return nil
		case <-timer.C():
			return fmt.Errorf("take back that %s stops at %s: %w", c.Name, s.point, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.awaited == s {
		c.awaited = nil
		close(s.taken)
	}
	return nil
}
