package locks_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"locklab/locks"
)

// late is a lease that comes after its caller has gone.
type late struct {
	locks.Lease
	released chan struct{}
}

func (l late) Release(context.Context) error {
	close(l.released)
	return nil
}

// TestALateGrantIsReleased: a library that answers after Patience has its grant released, and the caller an unknown
// outcome.
func TestALateGrantIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, answer, released := locks.NewCalls(), make(chan struct{}), make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		lease, err := calls.Acquire(ctx, "r", func(context.Context) (locks.Lease, error) {
			<-answer
			return late{released: released}, nil
		})
		if lease != nil || !errors.Is(err, locks.ErrUnknown) {
			t.Errorf("%v, %v: want no lease, and ErrUnknown", lease, err)
		}
		close(answer)
		<-released
		calls.Stop()
		calls.Wait()
	})
}

// TestStopEndsCalls: it ends those under way, and Wait waits for them; none begins after it.
func TestStopEndsCalls(t *testing.T) {
	calls := locks.NewCalls()
	ctx, done, err := calls.Begin(t.Context())
	if err != nil || !calls.Enter() {
		t.Fatal(err)
	}
	go calls.Leave()
	calls.Stop()
	<-ctx.Done()
	if why := context.Cause(ctx); !errors.Is(why, locks.ErrClosed) {
		t.Errorf("it ended by %v", why)
	}
	done()
	calls.Wait()
	if _, _, err := calls.Begin(t.Context()); !errors.Is(err, locks.ErrClosed) || calls.Enter() {
		t.Errorf("after Stop: %v", err)
	}
}
