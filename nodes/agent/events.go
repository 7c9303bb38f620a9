package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// The agent answers a request for events as soon as it has any, or empty after pollTime, as a sign of life. It
// forgets events only when the follower asks for later ones, so a lost connection loses none.
const (
	pollTime = time.Second
	// gather is how long the first event of an answer waits for others.
	gather = 4 * time.Millisecond
)

// handleEvents answers with the events from a number on. It refuses a request that does not name the present
// instance, since every request makes the agent forget the events before its number.
func (a *Agent) handleEvents(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	from, err := strconv.ParseUint(query.Get("from"), 10, 64)
	if err != nil {
		return fmt.Errorf("events: from=%q: want the number of an event, 0 for the first: %w",
			query.Get("from"), httpapi.ErrInvalid)
	}
	log := a.eventLog()
	if query.Get("instance") != log.instance {
		return fmt.Errorf("the agent of %s was restarted or reset: %w", a.cfg.Host, ErrEventsLost)
	}
	end, stop := clock.After(clock.System(), pollTime)
	defer stop()
	lines, changed, err := log.read(from)
	if err == nil && lines == nil {
		select {
		case <-changed:
			_ = clock.Sleep(r.Context(), gather) // ends early with the request
		case <-end:
		case <-r.Context().Done():
		case <-a.ctx.Done():
		}
		lines, _, err = log.read(from)
	}
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/jsonl")
	_, _ = w.Write(lines) // after an error the follower asks again
	return nil
}

const (
	// patience is how long a follower tries to reach an agent that does not answer.
	patience = 15 * time.Second
	// answerLate bounds the wait for one answer.
	answerLate = 10 * time.Second
	// askAgain is the pause before the next attempt after no answer.
	askAgain = 50 * time.Millisecond
)

// Follower delivers an agent's events in order, each once, and reconnects as needed.
type Follower struct {
	client  *Client
	handle  func(history.Event) error
	cancel  context.CancelFunc
	done    chan struct{}
	decoder *history.Decoder

	heardNS  atomic.Int64           // clock.Mono of the agent's last answer
	next     atomic.Uint64          // number of the next event
	instance atomic.Pointer[string] // of the agent; nil before its first answer
	err      error                  // set before done is closed
}

// Follow starts to deliver the agent's events to handle, which one goroutine calls. An error of handle, Close or the
// end of ctx ends the follower. An agent can have only one follower, since it forgets delivered events.
func (c *Client) Follow(ctx context.Context, handle func(history.Event) error) *Follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &Follower{
		client: c, handle: handle, cancel: cancel, done: make(chan struct{}), decoder: history.NewDecoder(),
	}
	f.heardNS.Store(clock.Mono())
	go f.run(ctx)
	return f
}

// Heard returns when the agent last answered, on clock.Mono of this process. A live agent
// answers every second, even without events.
func (f *Follower) Heard() int64 { return f.heardNS.Load() }

// Done is closed when the follower has ended; Err returns the reason.
func (f *Follower) Done() <-chan struct{} { return f.done }

// Err returns why the follower ended: nil while it runs and after Close, [ErrEventsLost]
// if events are missing, [httpapi.ErrUnreachable] if the agent is gone, or the error of handle.
func (f *Follower) Err() error {
	if !signals.Closed(f.done) {
		return nil
	}
	return f.err
}

// Close ends the follower and waits for it.
func (f *Follower) Close() {
	f.cancel()
	<-f.done
}

// Drain returns when every event that the agent had at the call has been delivered. Call it
// after the nodes have been stopped.
func (f *Follower) Drain(ctx context.Context) error {
	health, err := f.client.Health(ctx)
	for err == nil {
		next, instance := f.next.Load(), f.instance.Load()
		switch {
		case instance != nil && *instance != health.Instance:
			err = fmt.Errorf("the agent was restarted or reset: %w", ErrEventsLost)
		case next >= health.NextEvent:
			return nil
		case signals.Closed(f.done):
			if err = f.Err(); err == nil {
				err = fmt.Errorf("the follower was closed: %w", httpapi.ErrClosed)
			}
		default:
			if late := clock.Sleep(ctx, time.Millisecond); late != nil {
				err = fmt.Errorf("%d of %d delivered: %w", next, health.NextEvent, late)
			}
		}
	}
	return fmt.Errorf("drain events of %s: %w", f.client.URL(), err)
}

func (f *Follower) run(ctx context.Context) {
	defer close(f.done)
	defer f.cancel()
	for ctx.Err() == nil {
		err := f.poll(ctx)
		_, refused := errors.AsType[*httpapi.Error](err)
		unreachable := errors.Is(err, httpapi.ErrUnreachable) && !refused
		switch {
		case err == nil || ctx.Err() != nil:
		case unreachable && time.Duration(clock.Mono()-f.Heard()) <= patience:
			_ = clock.Sleep(ctx, askAgain) // the loop checks the context
		default:
			f.err = fmt.Errorf("follow events of %s: %w", f.client.URL(), err)
			return
		}
	}
}

// poll asks for the next events and delivers them.
func (f *Follower) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLate)
	defer cancel()
	instance := f.instance.Load()
	if instance == nil {
		health, err := f.client.Health(ctx)
		if err != nil {
			return err
		}
		instance = &health.Instance
		f.instance.Store(instance)
	}
	path := fmt.Sprintf("/v1/events?from=%d&instance=%s", f.next.Load(), url.QueryEscape(*instance))
	answer, err := f.client.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	in := newLines(answer.Body)
	for in.Scan() {
		var e history.Event
		if err := f.decoder.Decode(in.Bytes(), &e); err != nil {
			return fmt.Errorf("event %d: %w: %w", f.next.Load(), err, ErrEventsLost)
		}
		if err := f.handle(e); err != nil {
			return err
		}
		f.next.Add(1)
		f.heardNS.Store(clock.Mono())
	}
	if err := in.Err(); err != nil { // the next poll repeats an incomplete line
		return f.client.Unreachable(err)
	}
	f.heardNS.Store(clock.Mono())
	return nil
}
