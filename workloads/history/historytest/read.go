package historytest

import (
	"context"

	"locklab/workloads/history"
)

// ReadFile reads a whole history. Torn is true if the last line was torn.
func ReadFile(ctx context.Context, path string) (events []history.Event, torn bool, err error) {
	torn, err = history.Read(ctx, path, func(e *history.Event) error {
		events = append(events, *e)
		return nil
	})
	return events, torn, err
}
