package link

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Client controls a [Host] over HTTP. It is safe for concurrent use.
type Client struct {
	Base string       // the agent's URL, such as http://127.0.0.1:7070
	HTTP *http.Client // adds the token; nil is http.DefaultClient
}

// Info asks who the host is.
func (c *Client) Info(ctx context.Context) (info Info, err error) {
	return info, c.do(ctx, http.MethodGet, "info", nil, &info)
}

// Open opens a link and returns the address to dial on that host.
func (c *Client) Open(ctx context.Context, spec Spec) (addr string, err error) {
	var out opened
	err = c.do(ctx, http.MethodPost, "open", spec, &out)
	return out.Addr, err
}

// Close closes a link.
func (c *Client) Close(ctx context.Context, name string) error {
	return c.do(ctx, http.MethodPost, "close", named{name}, nil)
}

// Clear closes all links and ends all impairments and probes.
func (c *Client) Clear(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "clear", struct{}{}, nil)
}

// Apply puts an impairment on the host's links.
func (c *Client) Apply(ctx context.Context, i Impairment) error {
	return c.do(ctx, http.MethodPost, "apply", i, nil)
}

// Heal takes an impairment off.
func (c *Client) Heal(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodPost, "heal", named{id}, nil)
}

// Watch has the data links note what passes, see [Host.Watch].
func (c *Client) Watch(ctx context.Context, i Impairment) error {
	return c.do(ctx, http.MethodPost, "watch", i, nil)
}

// Seen ends a watch and says what the data connections saw.
func (c *Client) Seen(ctx context.Context, id string) (seen []Passage, err error) {
	return seen, c.do(ctx, http.MethodPost, "seen", named{id}, &seen)
}

// Probe has a peer probed.
func (c *Client) Probe(ctx context.Context, peer Peer) error {
	return c.do(ctx, http.MethodPost, "probe", peer, nil)
}

// Probes asks what the host's probes saw.
func (c *Client) Probes(ctx context.Context) (report Report, err error) {
	return report, c.do(ctx, http.MethodGet, "probes", nil, &report)
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("links: %s: %w", path, err)
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Base+Prefix+path, body)
	if err != nil {
		return fmt.Errorf("links: %s: %w", path, err)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("links: %s: %w", path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return fmt.Errorf("links: %s: %w", path, err)
	}
	if response.StatusCode != http.StatusOK {
		var f failure
		if json.Unmarshal(text, &f) != nil || f.Error == "" {
			f.Error = "no reason given"
		}
		return fmt.Errorf("links: %s: %s: %s", path, response.Status, f.Error)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("links: %s: decode answer: %w", path, err)
	}
	return nil
}
