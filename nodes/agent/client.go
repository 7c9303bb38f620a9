package agent

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"locklab/internal/httpapi"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
)

// Client calls one agent. It is safe for concurrent use. Call is for what is mounted on
// the agent, too. Its errors are [*httpapi.Error] when the agent said no, and wrap
// [httpapi.ErrUnreachable] when it said nothing.
type Client struct{ *httpapi.Client }

// NewClient calls the agent at a URL such as http://127.0.0.1:7500.
func NewClient(agentURL, token string) *Client {
	return &Client{httpapi.NewClient(agentURL, httpapi.ClientConfig{
		Name: "agent", Hint: "want a running `locklab agent` there", Token: token, Kinds: kinds(),
	})}
}

// Health asks the agent about itself.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.Call(ctx, http.MethodGet, "/v1/health", nil, &h)
	return h, err
}

// Version is the version of a role's server on the agent's host.
func (c *Client) Version(ctx context.Context, role string) (string, error) {
	var version string
	err := c.Call(ctx, http.MethodGet, "/v1/roles/"+url.PathEscape(role)+"/version", nil, &version)
	return version, err
}

// Reserve gives a node its addresses, by port name, as others dial them. It keeps
// them until it is removed; a second call returns the same.
func (c *Client) Reserve(ctx context.Context, node, role string) (map[string]string, error) {
	var addrs map[string]string
	err := c.Call(ctx, http.MethodPost, nodePath(node, "reserve"), NodeSpec{Role: role}, &addrs)
	return addrs, err
}

// Start starts a node with an empty data directory and returns when it is ready.
func (c *Client) Start(ctx context.Context, spec NodeSpec) error {
	return c.Call(ctx, http.MethodPost, nodePath(spec.Name, "start"), spec, nil)
}

// Restart kills a node if it runs, starts it again after the delay and returns when it is ready.
func (c *Client) Restart(ctx context.Context, node string, options RestartOptions) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "restart"), options, nil)
}

// Kill ends a node with SIGKILL and returns once it is gone.
func (c *Client) Kill(ctx context.Context, node string) error { return c.do(ctx, node, "kill") }

// Stop ends a node with SIGTERM, and with SIGKILL if that does not help in time.
func (c *Client) Stop(ctx context.Context, node string) error { return c.do(ctx, node, "stop") }

// Pause stops a node with SIGSTOP and returns once it stands still.
func (c *Client) Pause(ctx context.Context, node string) error { return c.do(ctx, node, "pause") }

// PauseAt stops a node when it next comes to a point of its work (see [history.KindPoint]),
// and returns once it stands still there; one that did not come to it in the time goes on, which is an
// error.
func (c *Client) PauseAt(ctx context.Context, node, point string, within time.Duration) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "pause"), pauseRequest{point, within}, nil)
}

// Resume lets a paused node go on.
func (c *Client) Resume(ctx context.Context, node string) error { return c.do(ctx, node, "resume") }

// SetClock makes a node's wall clock wrong by so much, and run at a rate from then on: 1 is right.
func (c *Client) SetClock(ctx context.Context, node string, skew process.Skew) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "clock"), skew, nil)
}

// NodeClock reads a node's wall clock: by how much it is wrong, against its host's.
func (c *Client) NodeClock(ctx context.Context, node string) (time.Duration, error) {
	var skew process.Skew
	err := c.Call(ctx, http.MethodGet, nodePath(node, "clock"), nil, &skew)
	return skew.Offset, err
}

// SetDisk makes a node's disk slow or full, or neither.
func (c *Client) SetDisk(ctx context.Context, node string, fault diskfault.Fault) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, "disk"), fault, nil)
}

// Disk says what is wrong with a node's disk, and what that has done.
func (c *Client) Disk(ctx context.Context, node string) (diskfault.Seen, error) {
	var s diskfault.Seen
	err := c.Call(ctx, http.MethodGet, nodePath(node, "disk"), nil, &s)
	return s, err
}

// Reset removes every node and forgets all events: a controller that takes over a
// running agent begins with it.
func (c *Client) Reset(ctx context.Context) error {
	return c.Call(ctx, http.MethodPost, "/v1/reset", nil, nil)
}

// Nodes lists the agent's nodes, sorted by name.
func (c *Client) Nodes(ctx context.Context) ([]NodeStatus, error) {
	var all []NodeStatus
	err := c.Call(ctx, http.MethodGet, "/v1/nodes", nil, &all)
	return all, err
}

// Log is what is kept of a node's output, the newest megabyte at least.
func (c *Client) Log(ctx context.Context, node string) (string, error) {
	var text []byte
	err := c.Call(ctx, http.MethodGet, nodePath(node, "log"), nil, &text)
	return string(text), err
}

func nodePath(node, verb string) string { return "/v1/nodes/" + url.PathEscape(node) + "/" + verb }

func (c *Client) do(ctx context.Context, node, verb string) error {
	return c.Call(ctx, http.MethodPost, nodePath(node, verb), nil, nil)
}
