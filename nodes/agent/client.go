package agent

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"locklab/internal/damage"
	"locklab/internal/httpapi"
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
