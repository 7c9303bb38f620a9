package link

import (
	"context"
	"net/http"
	"time"

	"locklab/internal/httpapi"
)

// Prefix is where the agent mounts [Host.Handler]: mux.Handle(link.Prefix, host.Handler()).
const Prefix = "/v1/links/"

func kinds() []httpapi.Kind {
	return []httpapi.Kind{{Is: ErrInvalid, Name: "invalid", Status: http.StatusBadRequest}}
}

// Handler is the control API: JSON over HTTP, paths below [Prefix]. The agent that mounts it
// checks the token.
//
//	GET  probes   Report
//	GET  open     []Opened: the links and the impairments in force on them
//	GET  hand     []Done
//	POST open     Spec -> the address, such as "127.0.0.1:40001"
//	POST apply    Impairment
//	POST heal     impairment's id -> what contradicts it
func (h *Host) Handler() http.Handler {
	a := httpapi.New(httpapi.Config{Name: "links of " + h.config.Host, Kinds: kinds(), Log: h.config.Log})
	a.Get("GET "+Prefix+"probes", func(*http.Request) (any, error) { return h.Probes(), nil })
	a.Get("GET "+Prefix+"open", func(*http.Request) (any, error) { return h.Opened(), nil })
	a.Get("GET "+Prefix+"hand", func(*http.Request) (any, error) { return h.Hand(), nil })
	httpapi.Post(a, "POST "+Prefix+"open", func(_ *http.Request, s Spec) (any, error) { return h.Open(s) })
	httpapi.Post(a, "POST "+Prefix+"apply", func(_ *http.Request, i Impairment) (any, error) { return nil, h.Apply(i) })
	httpapi.Post(a, "POST "+Prefix+"heal", func(_ *http.Request, id string) (any, error) { return h.Heal(id), nil })
	return a
}

// Client controls a [Host] over HTTP. It is safe for concurrent use.
type Client struct{ http *httpapi.Client }

// NewClient controls the host whose agent has the URL and the token.
func NewClient(agentURL, token string) *Client {
	config := httpapi.ClientConfig{
		Name: "links of agent", Token: token, Kinds: kinds(), Repeatable: true, Timeout: 5 * time.Second,
	}
	return &Client{httpapi.NewClient(agentURL, config)}
}

// Disconnect frees the client's connections.
func (c *Client) Disconnect() { c.http.Close() }

// Open opens a link and returns the address to dial on that host.
func (c *Client) Open(ctx context.Context, s Spec) (addr string, err error) {
	return ask[string](ctx, c, "open", s)
}

// Apply puts an impairment on the host's links.
func (c *Client) Apply(ctx context.Context, i Impairment) error {
	return c.http.Call(ctx, http.MethodPost, Prefix+"apply", i, nil)
}

// Heal takes an impairment off and says what contradicted it, see [Host.Heal].
func (c *Client) Heal(ctx context.Context, id string) (contradicted string, err error) {
	return ask[string](ctx, c, "heal", id)
}

// Probes returns the report of the host's probes.
func (c *Client) Probes(ctx context.Context) (Report, error) {
	return ask[Report](ctx, c, "probes", nil)
}

// Opened lists the host's links.
func (c *Client) Opened(ctx context.Context) ([]Opened, error) {
	return ask[[]Opened](ctx, c, "open", nil)
}

// Hand lists the impairments made by hand on the host's links, see [Host.Hand].
func (c *Client) Hand(ctx context.Context) ([]Done, error) { return ask[[]Done](ctx, c, "hand", nil) }

// ask posts what is in, or gets if that is nil.
func ask[Out any](ctx context.Context, c *Client, path string, in any) (out Out, err error) {
	method := http.MethodPost
	if in == nil {
		method = http.MethodGet
	}
	err = c.http.Call(ctx, method, Prefix+path, in, &out)
	return out, err
}
