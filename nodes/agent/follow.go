package agent

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// patience is how long a follower tries to reach an agent that does not answer.
const patience = 15 * time.Second

// askAgain is the pause before an agent that did not answer is asked again.
const askAgain = 50 * time.Millisecond

// Follower delivers an agent's events in order, each once, over as many
// connections as it takes.
type Follower struct {
	client  *Client
	handle  func(history.Event) error
	cancel  context.CancelFunc
	done    chan struct{}
	decoder *history.Decoder

	mu       sync.Mutex
	heardNS  int64  // clock.Mono of the last word of the agent
	next     uint64 // number of the event to come
	instance string
	err      error
	changed  chan struct{} // closed at the next change of next
}

// Follow starts to deliver the agent's events to handle, which is called by one
// goroutine and ends the follower by an error. Only one follower of an agent works: the agent forgets what it got.
// The context bounds the follower's life as Close does.
func (c *Client) Follow(ctx context.Context, handle func(history.Event) error) *Follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &Follower{
		client: c, handle: handle, cancel: cancel, done: make(chan struct{}), decoder: history.NewDecoder(),
		changed: make(chan struct{}), heardNS: clock.Mono(),
	}
	go f.run(ctx)
	return f
}

// Next is the number of the event to be delivered next.
func (f *Follower) Next() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.next
}

// Heard is when the agent last said something, on clock.Mono of this process. An
// agent that lives says something every second, also when nothing happens.
func (f *Follower) Heard() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heardNS
}

// Done is closed when the follower has ended; Err says why.
func (f *Follower) Done() <-chan struct{} { return f.done }

// Err is why the follower ended: nil while it runs and after Close, [ErrEventsLost]
// when the history has a hole, [httpapi.ErrUnreachable] when the agent is gone, or the
// error of handle.
func (f *Follower) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Drain returns when every event that the agent had when it was called has been
// delivered. Call it when the nodes have been stopped, so that nothing is missed.
func (f *Follower) Drain(ctx context.Context) error {
	health, err := f.client.Health(ctx)
	if err != nil {
		return fmt.Errorf("drain events: %w", err)
	}
	for {
		f.mu.Lock()
		next, changed, instance := f.next, f.changed, f.instance
		f.mu.Unlock()
		if instance != "" && instance != health.Instance {
			return fmt.Errorf("drain events: the agent was restarted or reset: %w", ErrEventsLost)
		}
		if next >= health.NextEvent {
			return nil
		}
		select {
		case <-changed:
		case <-f.done:
			if f.Next() >= health.NextEvent {
				return nil
			}
			if err := f.Err(); err != nil {
				return fmt.Errorf("drain events: %w", err)
			}
			return fmt.Errorf("drain events: the follower was closed: %w", httpapi.ErrClosed)
		case <-ctx.Done():
			return fmt.Errorf("drain events of %s: %d of %d delivered: %w", f.client.URL(), next, health.NextEvent, ctx.Err())
		}
	}
}

// Close ends the follower and waits for it.
func (f *Follower) Close() {
	f.cancel()
	<-f.done
}

func (f *Follower) run(ctx context.Context) {
	defer close(f.done)
	defer f.cancel()
	for ctx.Err() == nil {
		err := f.segment(ctx)
		switch _, refused := errors.AsType[*httpapi.Error](err); {
		case err == nil || ctx.Err() != nil:
		case refused || time.Duration(clock.Mono()-f.Heard()) > patience:
			f.end(fmt.Errorf("follow events: %w", err))
		default:
			_ = clock.Sleep(ctx, askAgain) // the loop looks at the context
		}
	}
}

// end ends the follower with an error.
func (f *Follower) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.cancel()
}

// segment asks for the next events and delivers them. An agent that lives ends the segment by itself; the
// timeout is for one whose host vanished.
func (f *Follower) segment(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, segmentTime+stalled)
	defer cancel()
	query := url.Values{"from": {strconv.FormatUint(f.Next(), 10)}}
	if f.instance != "" { // written by this goroutine only
		query.Set("instance", f.instance)
	}
	response, err := f.client.Open(ctx, "/v1/events?"+query.Encode())
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	f.mu.Lock()
	f.instance = response.Header.Get(instanceHeader)
	f.heardNS = clock.Mono()
	f.mu.Unlock()

	in := newLines(response.Body)
	for in.Scan() {
		if err := f.deliver(in.Bytes()); err != nil {
			f.end(err)
			return err
		}
	}
	if err := in.Err(); err != nil { // a line that was cut off comes again
		return f.client.Unreachable(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heardNS = clock.Mono()
	return nil
}

func (f *Follower) deliver(line []byte) error {
	var e history.Event
	if err := f.decoder.Decode(line, &e); err != nil {
		return fmt.Errorf("follow events of %s: event %d: %w: %w", f.client.URL(), f.Next(), err, ErrEventsLost)
	}
	if err := f.handle(e); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	f.heardNS = clock.Mono()
	close(f.changed)
	f.changed = make(chan struct{})
	return nil
}
