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

// Client calls one agent. It is safe for concurrent use. Call reaches the agent's Mounts, too. Its
// errors are [*httpapi.Error] if the agent refused, and wrap [httpapi.ErrUnreachable] if it did not
// answer.
type Client struct{ *httpapi.Client }

// callTimeout bounds a call, in addition to the time that the call itself waits.
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

// Version returns the version of a role's server on the agent's host.
func (c *Client) Version(ctx context.Context, role string) (string, error) {
	return fetch[string](ctx, c, "/v1/roles/"+url.PathEscape(role)+"/version")
}

// Reserve makes a node and returns its addresses, by port name, as others dial them. The node
// keeps them until it is removed; a second call returns the same.
func (c *Client) Reserve(ctx context.Context, node, role string) (map[string]string, error) {
	var addrs map[string]string
	err := c.Call(ctx, http.MethodPost, nodePath(node, "reserve"), NodeSpec{Role: role}, &addrs)
	return addrs, err
}

// Start starts a node with an empty data directory and returns when it is ready, or after the agent's StartTimeout.
func (c *Client) Start(ctx context.Context, spec NodeSpec) error {
	return c.Within(0).Call(ctx, http.MethodPost, nodePath(spec.Name, "start"), spec, nil)
}

// Restart kills a node if it runs, starts it again and returns when it is ready. With wipe its data directory is
// emptied.
func (c *Client) Restart(ctx context.Context, node string, wipe bool) error {
	return c.Within(2*callTimeout).Call(ctx, http.MethodPost, nodePath(node, "restart"), wipe, nil)
}

// CutPower kills a node and removes unsynced data from its disk. The node must run with [diskfault.Power].
func (c *Client) CutPower(ctx context.Context, node string, how damage.Power) (lost history.Lost, err error) {
	err = c.Call(ctx, http.MethodPost, nodePath(node, "cut-power"), how, &lost)
	return lost, err
}

// Kill kills a node with SIGKILL and returns once it is gone.
func (c *Client) Kill(ctx context.Context, node string) error { return c.do(ctx, node, "kill") }

// Stop ends a node with SIGTERM, and after StopGrace with SIGKILL.
func (c *Client) Stop(ctx context.Context, node string) error { return c.do(ctx, node, "stop") }

// Pause stops a node with SIGSTOP and returns once it has stopped. If point is not "", it stops the node when it next
// reaches that point of its work (see [history.KindPoint]); if that does not happen in time, the node goes on, and
// Pause returns an error.
func (c *Client) Pause(ctx context.Context, node, point string, within time.Duration) error {
	at := process.PauseAt{Point: point, Within: within}
	return c.Within(within+callTimeout).Call(ctx, http.MethodPost, nodePath(node, "pause"), at, nil)
}

// Resume continues a paused node.
func (c *Client) Resume(ctx context.Context, node string) error { return c.do(ctx, node, "resume") }

// SetClock puts a node's wall clock off by offset, and sets its rate: 1 is right.
func (c *Client) SetClock(ctx context.Context, node string, offset time.Duration, rate float64) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "clock"), process.Skew{Offset: offset, Rate: rate}, nil)
}

// NodeClock returns the difference of a node's wall clock to its host's.
func (c *Client) NodeClock(ctx context.Context, node string) (time.Duration, error) {
	ns, err := fetch[int64](ctx, c, nodePath(node, "clock"))
	return time.Duration(ns), err
}

// SetDisk makes a node's disk slow or full, or neither.
func (c *Client) SetDisk(ctx context.Context, node string, disk damage.Disk) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "disk"), disk, nil)
}

// Disk returns the fault of a node's disk, and its effects.
func (c *Client) Disk(ctx context.Context, node string) (damage.Seen, error) {
	return fetch[damage.Seen](ctx, c, nodePath(node, "disk"))
}

// Reset removes every node and forgets all events. A controller must call it first when it
// takes over a running agent.
func (c *Client) Reset(ctx context.Context) error {
	return c.Call(ctx, http.MethodPost, "/v1/reset", nil, nil)
}

// State returns a node's state: reserved, starting, ready, paused or ended.
func (c *Client) State(ctx context.Context, node string) (string, error) {
	return fetch[string](ctx, c, nodePath(node, "state"))
}

// Log returns the end of a node's output, at most 2 MiB.
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

// Offset converts a time of another host's clock.Mono into one of this process's: Add it. The
// result is off by at most Error, either way.
type Offset struct{ Add, Error time.Duration }

// ClockOffset estimates the offset of the agent's clock.Mono by several round trips. The error is half of the
// fastest one.
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
