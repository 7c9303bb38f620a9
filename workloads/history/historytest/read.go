package historytest

import (
	"context"
	"errors"
	"io"

	"locklab/workloads/history"
)

// ReadFile reads a whole history. Torn is true if the last line was torn.
func ReadFile(ctx context.Context, path string) (events []history.Event, torn bool, err error) {
	r, err := history.Open(ctx, path)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		var e history.Event
		switch err := r.Next(&e); {
		case errors.Is(err, io.EOF):
			return events, r.Torn(), nil
		case err != nil:
			return nil, false, err
		}
		events = append(events, e)
	}
}
