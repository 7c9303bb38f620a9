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
	"locklab/internal/strictjson"
	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/workloads/history"
)

// answerTime is how long a node may take to carry out an order: it stands still, or is
// gone, if it takes longer.
const answerTime = time.Second

// orders are those to one incarnation of a node, one at a time: see [process.Order].
type orders struct {
	mu      sync.Mutex
	out     io.Writer
	number  uint64
	answers chan process.Answer
}

// ask sends an order and waits for its answer.
func (o *orders) ask(ctx context.Context, order process.Order) (process.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.number++
	order.Number = o.number
	text, err := json.Marshal(order)
	if err == nil {
		_, err = o.out.Write(append(text, '\n')) // orders are few and short: a pipe holds them
	}
	if err != nil {
		return process.Answer{}, fmt.Errorf("send an order: %w", err)
	}
	for {
		select {
		case a := <-o.answers:
			switch {
			case a.Number != order.Number: // too late for an order before
			case a.Error != "":
				return a, fmt.Errorf("it refuses: %s: %w", a.Error, httpapi.ErrInvalid)
			default:
				return a, nil
			}
		case <-ctx.Done():
			return process.Answer{}, fmt.Errorf("it does not answer: %w", ctx.Err())
		}
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
		select {
		case o.answers <- a:
		default: // nothing waits for so many
		}
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
func (c *child) pauseAt(ctx context.Context, point string, within time.Duration) error {
	if !c.points || !slices.Contains(points(), point) {
		return fmt.Errorf("pause %s at %q: its role comes to no such point: want a master, and one of %v: %w",
			c.name, point, points(), httpapi.ErrInvalid)
	}
	w := &pointWait{clock.Mono(), make(chan struct{})}
	err := c.comesTo(context.WithoutCancel(ctx), w, process.PauseAt{Point: point, Within: within})
	if err == nil && ctx.Err() != nil { // the controller has gone, and may have resumed it before it stopped
		err = errors.Join(ctx.Err(), c.resume())
	}
	if err != nil {
		return fmt.Errorf("pause %s at %s: %w", c.name, point, err)
	}
	return nil
}

// comesTo returns nil once the process stands still at the point. Its context lasts for as long as that takes.
func (c *child) comesTo(ctx context.Context, w *pointWait, at process.PauseAt) error {
	c.mu.Lock()
	if c.paused || c.waits != nil {
		c.mu.Unlock()
		return fmt.Errorf("it stands still, or is to stop at another point: %w", httpapi.ErrConflict)
	}
	c.waits = w
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.waits = nil
		c.mu.Unlock()
	}()
	_, err := c.orders.ask(ctx, process.Order{PauseAt: &at})
	timer := clock.System().NewTimer(at.Within + answerTime) // by then the node does not stop any more
	defer timer.Stop()
	select {
	case <-w.stopped: // perhaps before it answered
		return nil
	case <-c.gone:
		return fmt.Errorf("%w: %w", errEnded, httpapi.ErrConflict)
	case <-timer.C():
		if err == nil {
			err = fmt.Errorf("it did not come to that within %v: %w", at.Within, httpapi.ErrConflict)
		}
		return err
	}
}
