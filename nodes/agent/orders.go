package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/httpapi"
	"locklab/internal/strictjson"
	"locklab/nodes/process"
)

// answerTime is how long a node may take to carry out an order: it stands still, or is
// gone, if it takes longer.
const answerTime = time.Second

var (
	errEnded     = errors.New("it has ended")
	errStillRuns = fmt.Errorf("it did not stand still within %v", answerTime)
)

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
