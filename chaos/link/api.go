package link

import (
	"context"
	"net/http"
	"time"

	"locklab/internal/httpapi"
)

// Prefix is where the agent mounts [Host.Handler]: mux.Handle(link.Prefix, host.Handler()).
const Prefix = "/v1/links/"

// Info describes a host.
type Info struct {
	Host string `json:"host"`
	Echo string `json:"echo"` // where probe links of other hosts lead
}

type (
	opened struct {
		Addr string `json:"addr"`
	}
	named struct {
		Name string `json:"name"`
	}
	healed struct {
		Contradicted string `json:"contradicted"`
	}
)

func kinds() []httpapi.Kind {
	return []httpapi.Kind{{Is: ErrInvalid, Name: "invalid", Status: http.StatusBadRequest}}
}

// Handler is the control API: JSON over HTTP, paths below [Prefix]. The agent that mounts it
// checks the token.
//
//	GET  info     Info
//	GET  probes   Report
//	POST open     Spec -> {"addr": "127.0.0.1:40001"}
//	POST probe    Peer
//	POST apply    Impairment
//	GET  open     []Opened: the links and the impairments in force on them
//	GET  hand     []Done
//	POST heal     {"name": impairment's id} -> {"contradicted": ...}
func (h *Host) Handler() http.Handler {
	a := httpapi.New(httpapi.Config{Name: "links of " + h.config.Host, Kinds: kinds(), Log: h.config.Log})
	a.Get("GET "+Prefix+"info", func(*http.Request) (any, error) { return Info{h.config.Host, h.EchoAddr()}, nil })
	a.Get("GET "+Prefix+"probes", func(*http.Request) (any, error) { return h.Probes(), nil })
	a.Get("GET "+Prefix+"open", func(*http.Request) (any, error) { return h.Opened(), nil })
	a.Get("GET "+Prefix+"hand", func(*http.Request) (any, error) { return h.Hand(), nil })
	post(a, "open", func(s Spec) (any, error) {
		addr, err := h.Open(s)
		return opened{addr}, err
	})
	post(a, "probe", func(p Peer) (any, error) { return nil, h.Probe(p) })
	post(a, "apply", func(i Impairment) (any, error) { return nil, h.Apply(i) })
	post(a, "heal", func(n named) (any, error) { return healed{h.Heal(n.Name)}, nil })
	return a
}

func post[In any](a *httpapi.API, path string, f func(In) (any, error)) {
	httpapi.Post(a, "POST "+Prefix+path, func(_ *http.Request, in In) (any, error) { return f(in) })
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

// Info describes the host.
func (c *Client) Info(ctx context.Context) (info Info, err error) {
	return info, c.http.Call(ctx, http.MethodGet, Prefix+"info", nil, &info)
}

// Open opens a link and returns the address to dial on that host.
func (c *Client) Open(ctx context.Context, spec Spec) (addr string, err error) {
	var out opened
	err = c.post(ctx, "open", spec, &out)
	return out.Addr, err
}

// Apply puts an impairment on the host's links.
func (c *Client) Apply(ctx context.Context, i Impairment) error { return c.post(ctx, "apply", i, nil) }

// Heal takes an impairment off and says what contradicted it, see [Host.Heal].
func (c *Client) Heal(ctx context.Context, id string) (contradicted string, err error) {
	var out healed
	err = c.post(ctx, "heal", named{id}, &out)
	return out.Contradicted, err
}

// Probe has a peer probed.
func (c *Client) Probe(ctx context.Context, peer Peer) error { return c.post(ctx, "probe", peer, nil) }

// Probes returns the report of the host's probes.
func (c *Client) Probes(ctx context.Context) (report Report, err error) {
	return report, c.http.Call(ctx, http.MethodGet, Prefix+"probes", nil, &report)
}

// Opened lists the host's links.
func (c *Client) Opened(ctx context.Context) (all []Opened, err error) {
	return all, c.http.Call(ctx, http.MethodGet, Prefix+"open", nil, &all)
}

// Hand lists the impairments made by hand on the host's links, see [Host.Hand].
func (c *Client) Hand(ctx context.Context) (all []Done, err error) {
	return all, c.http.Call(ctx, http.MethodGet, Prefix+"hand", nil, &all)
}

func (c *Client) post(ctx context.Context, path string, in, out any) error {
	return c.http.Call(ctx, http.MethodPost, Prefix+path, in, out)
}
