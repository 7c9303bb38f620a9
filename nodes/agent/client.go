package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"locklab/internal/damage"
	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/nodes/process"
	"locklab/workloads/history"
)

// Client calls one agent. It is safe for concurrent use. Call is for what is mounted on
// the agent, too. Its errors are [*httpapi.Error] when the agent said no, and wrap
// [httpapi.ErrUnreachable] when it said nothing.
type Client struct{ *httpapi.Client }

// callTimeout bounds a call, beside what the call itself is to wait for.
const callTimeout = 15 * time.Second

// NewClient calls the agent at a URL such as http://127.0.0.1:7500.
func NewClient(agentURL, token string) *Client {
	return &Client{httpapi.NewClient(agentURL, httpapi.ClientConfig{
		Name: "agent", Hint: "want a running `locklab agent` there", Token: token, Kinds: kinds(), Timeout: callTimeout,
	})}
}

// Health asks the agent about itself.
func (c *Client) Health(ctx context.Context) (Health, error) {
	return fetch[Health](ctx, c, "/v1/health")
}

// Version is the version of a role's server on the agent's host.
func (c *Client) Version(ctx context.Context, role string) (string, error) {
	return fetch[string](ctx, c, "/v1/roles/"+url.PathEscape(role)+"/version")
}

// Reserve gives a node its addresses, by port name, as others dial them. It keeps
// them until it is removed; a second call returns the same.
func (c *Client) Reserve(ctx context.Context, node, role string) (map[string]string, error) {
	var addrs map[string]string
	err := c.Call(ctx, http.MethodPost, nodePath(node, "reserve"), NodeSpec{Role: role}, &addrs)
	return addrs, err
}

// Start starts a node with an empty data directory and returns when it is ready, or late for its agent.
func (c *Client) Start(ctx context.Context, spec NodeSpec) error {
	return c.Within(0).Call(ctx, http.MethodPost, nodePath(spec.Name, "start"), spec, nil)
}

// Restart kills a node if it runs, starts it again, with an empty data directory if wipe is set, and returns when it
// is ready.
func (c *Client) Restart(ctx context.Context, node string, wipe bool) error {
	return c.Within(2*callTimeout).Call(ctx, http.MethodPost, nodePath(node, "restart"), wipe, nil)
}

// CutPower kills a node and takes from its disk what was not synced. It must have been started with a disk for that.
func (c *Client) CutPower(ctx context.Context, node string, how damage.Power) (lost history.Lost, err error) {
	err = c.Call(ctx, http.MethodPost, nodePath(node, "cut-power"), how, &lost)
	return lost, err
}

// Kill ends a node with SIGKILL and returns once it is gone.
func (c *Client) Kill(ctx context.Context, node string) error { return c.do(ctx, node, "kill") }

// Stop ends a node with SIGTERM, and with SIGKILL if that does not help in time.
func (c *Client) Stop(ctx context.Context, node string) error { return c.do(ctx, node, "stop") }

// Pause stops a node with SIGSTOP, at once or, if point is not "", when it next comes to that point of its work (see
// [history.KindPoint]), and returns once it stands still; one that did not come to it in the time goes on, which is
// an error.
func (c *Client) Pause(ctx context.Context, node, point string, within time.Duration) error {
	at := process.PauseAt{Point: point, Within: within}
	return c.Within(within+callTimeout).Call(ctx, http.MethodPost, nodePath(node, "pause"), at, nil)
}

// Resume lets a paused node go on.
func (c *Client) Resume(ctx context.Context, node string) error { return c.do(ctx, node, "resume") }

// SetClock makes a node's wall clock wrong by so much, and run at a rate from then on: 1 is right.
func (c *Client) SetClock(ctx context.Context, node string, offset time.Duration, rate float64) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "clock"), process.Skew{Offset: offset, Rate: rate}, nil)
}

// NodeClock reads a node's wall clock: by how much it is wrong, against its host's.
func (c *Client) NodeClock(ctx context.Context, node string) (time.Duration, error) {
	ns, err := fetch[int64](ctx, c, nodePath(node, "clock"))
	return time.Duration(ns), err
}

// SetDisk makes a node's disk slow or full, or neither.
func (c *Client) SetDisk(ctx context.Context, node string, disk damage.Disk) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "disk"), disk, nil)
}

// Disk says what is wrong with a node's disk, and what that has done.
func (c *Client) Disk(ctx context.Context, node string) (damage.Seen, error) {
	return fetch[damage.Seen](ctx, c, nodePath(node, "disk"))
}

// Reset removes every node and forgets all events: a controller that takes over a
// running agent begins with it.
func (c *Client) Reset(ctx context.Context) error {
	return c.Call(ctx, http.MethodPost, "/v1/reset", nil, nil)
}

// State is reserved, starting, ready, paused or ended.
func (c *Client) State(ctx context.Context, node string) (string, error) {
	return fetch[string](ctx, c, nodePath(node, "state"))
}

// Log is the end of a node's output, two megabytes at most.
func (c *Client) Log(ctx context.Context, node string) (string, error) {
	return fetch[string](ctx, c, nodePath(node, "log"))
}

func nodePath(node, verb string) string { return "/v1/nodes/" + url.PathEscape(node) + "/" + verb }

func fetch[Out any](ctx context.Context, c *Client, path string) (out Out, err error) {
	err = c.Call(ctx, http.MethodGet, path, nil, &out)
	return out, err
}

func (c *Client) do(ctx context.Context, node, verb string) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, verb), nil, nil)
}

// Offset is what to add to a time of another host's clock.Mono to get one of this
// process's, and how far that may be off, either way.
type Offset struct{ Add, Error time.Duration }

// ClockOffset estimates how the agent's clock.Mono lies to this process's, by so many round trips: half of
// the fastest may be off.
func (c *Client) ClockOffset(ctx context.Context, roundTrips int) (best Offset, err error) {
	for i := range roundTrips {
		sent := clock.Mono()
		at, err := fetch[int64](ctx, c, "/v1/clock")
		if err != nil {
			return Offset{}, err
		}
		half := time.Duration(clock.Mono()-sent+1) / 2
		if i == 0 || half < best.Error {
			best = Offset{time.Duration(sent-at) + half, half}
		}
	}
	return best, nil
}

const (
	// patience is how long a follower tries to reach an agent that does not answer.
	patience = 15 * time.Second
	// answerLate is how long an answer may take of an agent whose host has not vanished.
	answerLate = 10 * time.Second
	// askAgain is the pause before an agent that did not answer is asked again.
	askAgain = 50 * time.Millisecond
)

// Follower delivers an agent's events in order, each once, over as many
// connections as it takes.
type Follower struct {
	client  *Client
	handle  func(history.Event) error
	cancel  context.CancelFunc
	done    chan struct{}
	decoder *history.Decoder

	heardNS  atomic.Int64           // clock.Mono of the last word of the agent
	next     atomic.Uint64          // number of the event to come
	instance atomic.Pointer[string] // of the agent; nil before its first word
	err      error                  // of a follower that has ended
}

// Follow starts to deliver the agent's events to handle, which is called by one
// goroutine and ends the follower by an error. Only one follower of an agent works: the agent forgets what it got.
// The context bounds the follower's life as Close does.
func (c *Client) Follow(ctx context.Context, handle func(history.Event) error) *Follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &Follower{
		client: c, handle: handle, cancel: cancel, done: make(chan struct{}), decoder: history.NewDecoder(),
	}
	f.heardNS.Store(clock.Mono())
	go f.run(ctx)
	return f
}

// Heard is when the agent last said something, on clock.Mono of this process. An
// agent that lives says something every second, also when nothing happens.
func (f *Follower) Heard() int64 { return f.heardNS.Load() }

// Done is closed when the follower has ended; Err says why.
func (f *Follower) Done() <-chan struct{} { return f.done }

// Err is why the follower ended: nil while it runs and after Close, [ErrEventsLost]
// when the history has a hole, [httpapi.ErrUnreachable] when the agent is gone, or the
// error of handle.
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

// Drain returns when every event that the agent had when it was called has been
// delivered. Call it when the nodes have been stopped, so that nothing is missed.
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
			_ = clock.Sleep(ctx, askAgain) // the loop looks at the context
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
	defer func() { _ = answer.Body.Close() }() // read to its end, or given up
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
	if err := in.Err(); err != nil { // a line that was cut off comes again
		return f.client.Unreachable(err)
	}
	f.heardNS.Store(clock.Mono())
	return nil
}
