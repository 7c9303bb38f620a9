// Package signals has channels that carry no values: one that is closed when something has
// happened, and one with room for one, whose reader is to look again.
package signals

import "context"

// Closed says whether c is closed. It waits for nothing.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Wake has the reader of c look again, soon or when it comes to that. It waits for nothing.
func Wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Until is ctx with an end of its own: when c is closed, or the function is called. A nil c is never closed.
func Until(ctx context.Context, c <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-c:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
