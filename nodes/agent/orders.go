package agent

import (
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"time"

	"locklab/internal/httpapi"
)

// answerTime is how long a node may take to carry out an order: it stands still, or is
// gone, if it takes longer.
const answerTime = time.Second

var (
	errEnded     = errors.New("it has ended")
	errStillRuns = fmt.Errorf("it did not stand still within %v", answerTime)
)

// ask has a node carry out an order, a method of [process.Orders], and waits for its answer.
func ask[Out any](ctx context.Context, orders *rpc.Client, method string, in any) (none Out, err error) {
	out := new(Out)
	call := orders.Go("Orders."+method, in, out, make(chan *rpc.Call, 1)) // orders are short: a pipe holds them
	if _, bounded := ctx.Deadline(); !bounded {
		limited, cancel := context.WithTimeout(ctx, answerTime)
		defer cancel()
		ctx = limited
	}
	select {
	case <-call.Done:
	case <-ctx.Done():
		return none, fmt.Errorf("it does not answer: %w", ctx.Err())
	}
	if refusal, is := errors.AsType[rpc.ServerError](call.Error); is {
		return none, fmt.Errorf("it refuses: %w: %w", refusal, httpapi.ErrConflict)
	}
	return *out, call.Error
}
