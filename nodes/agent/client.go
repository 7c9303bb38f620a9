package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"locklab/nodes/bearer"
)

// Client calls one agent. It is safe for concurrent use. Its errors are [*Error]
// when the agent said no, and wrap [ErrUnreachable] when it said nothing.
type Client struct {
	url   string
	token string
	http  *http.Client
}

// NewClient calls the agent at a URL such as http://127.0.0.1:7500.
func NewClient(agentURL, token string) *Client {
	return &Client{
		url:   strings.TrimSuffix(agentURL, "/"),
		token: token,
		http: &http.Client{
			// Of its own: no proxy from the environment comes between, and Close closes it.
			Transport: &http.Transport{
				MaxIdleConnsPerHost: 8, IdleConnTimeout: keepAlive / 2, ResponseHeaderTimeout: 0, DisableCompression: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close frees the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// URL is where the agent is.
func (c *Client) URL() string { return c.url }

// Health asks the agent about itself.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.Call(ctx, http.MethodGet, "/v1/health", nil, &h)
	return h, err
}

// Version is the version of a role's server on the agent's host.
func (c *Client) Version(ctx context.Context, role string) (string, error) {
	var v versionAnswer
	err := c.Call(ctx, http.MethodGet, "/v1/roles/"+url.PathEscape(role)+"/version", nil, &v)
	return v.Version, err
}

// Reserve gives a node its addresses, by port name, as others dial them. It keeps
// them until it is removed; a second call returns the same.
func (c *Client) Reserve(ctx context.Context, node, role string) (map[string]string, error) {
	var answer reserveAnswer
	err := c.Call(ctx, http.MethodPost, nodePath(node, "reserve"), reserveRequest{Role: role}, &answer)
	return answer.Addrs, err
}

// Start starts a node with an empty data directory and returns when it is ready.
func (c *Client) Start(ctx context.Context, spec NodeSpec) error {
	return c.Call(ctx, http.MethodPost, nodePath(spec.Name, "start"), startRequest{Role: spec.Role, Settings: spec.Settings}, nil)
}

// Restart kills a node if it runs, starts it again after the delay (whole
// milliseconds) and returns when it is ready.
func (c *Client) Restart(ctx context.Context, node string, options RestartOptions) error {
	request := restartRequest{Wipe: options.Wipe, DelayMS: options.Delay.Milliseconds()}
	return c.Call(ctx, http.MethodPost, nodePath(node, "restart"), request, nil)
}

// Kill ends a node with SIGKILL and returns once it is gone.
func (c *Client) Kill(ctx context.Context, node string) error { return c.do(ctx, node, "kill") }

// Stop ends a node with SIGTERM, and with SIGKILL if that does not help in time.
func (c *Client) Stop(ctx context.Context, node string) error { return c.do(ctx, node, "stop") }

// Pause stops a node with SIGSTOP and returns once it stands still.
func (c *Client) Pause(ctx context.Context, node string) error { return c.do(ctx, node, "pause") }

// Resume lets a paused node go on.
func (c *Client) Resume(ctx context.Context, node string) error { return c.do(ctx, node, "resume") }

// Remove kills a node if it runs, deletes its data and log, and gives its
// addresses back.
func (c *Client) Remove(ctx context.Context, node string) error { return c.do(ctx, node, "remove") }

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

// Call sends one request, for the agent's own API or for what is mounted on it: in
// is sent as JSON unless it is nil, the answer is decoded into out unless that is
// nil; a *[]byte takes it as it is.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("call agent %s: encode request: %w: %w", c.url, err, ErrInvalid)
		}
		body = bytes.NewReader(data)
	}
	response, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end, or is given up
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return c.unreachable(err)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = data
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("call agent %s: %s %s: answer is not what was expected: %w", c.url, method, path, err)
	}
	return nil
}

// maxAnswer bounds what an agent may answer: a log is the longest.
const maxAnswer = 8 << 20

// send returns the answer if it is a good one; the caller closes its body.
func (c *Client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return nil, fmt.Errorf("call agent %q: %w: %w", c.url, err, ErrInvalid)
	}
	if c.token != "" {
		bearer.Set(request, c.token)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // an error answer is short
	data, _ := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	refused := &Error{Agent: c.url, Status: response.StatusCode}
	var answer errorAnswer
	if json.Unmarshal(data, &answer) == nil && answer.Error != "" {
		refused.Message, refused.Kind = answer.Error, answer.Kind
	} else {
		refused.Message = fmt.Sprintf("%s %s: %s", method, path, strings.TrimSpace(string(data)))
	}
	return nil, refused
}

func (c *Client) unreachable(err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("call agent %s: %w", c.url, err)
	}
	return fmt.Errorf("call agent %s: want a running `locklab agent` there: %w: %w", c.url, err, ErrUnreachable)
}
