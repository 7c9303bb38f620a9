package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/strictjson"
)

// ClientConfig is usable as its zero value.
type ClientConfig struct {
	// Name is the server's, for errors, such as "agent"; the URL follows it.
	Name string
	// Hint is what to do when there is no answer.
	Hint  string
	Token string // that requests bear, if any
	// Timeout bounds each Call; 0 does not.
	Timeout time.Duration
	Kinds   []Kind // the API's own
	// Repeatable says that any request may be repeated without a second effect: one
	// that met a dead connection is.
	Repeatable bool
}

// Client calls one API. It is safe for concurrent use. Its errors are an [*Error] when
// the API said no; they wrap [ErrUnreachable] when it said nothing, and [ErrNotSent] too
// when it surely heard nothing.
type Client struct {
	ClientConfig
	url       string
	transport *http.Transport
}

const (
	dialTimeout = 2 * time.Second // ends dials whose request was given up
	answerBytes = 16 << 20        // of an answer: logs, and listings, are the longest
)

// NewClient calls the API at a URL such as http://127.0.0.1:7500. No proxy comes between.
func NewClient(url string, config ClientConfig) *Client {
	return &Client{ClientConfig: config, url: strings.TrimSuffix(url, "/"), transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		DisableCompression:  true,
		MaxIdleConnsPerHost: 512,                         // players come in bursts
		IdleConnTimeout:     headerTimeout - time.Second, // the server cuts one that was never used after headerTimeout
		ReadBufferSize:      2 << 10,
		WriteBufferSize:     2 << 10,
	}}
}

// Close frees the client's connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// URL is where the API is.
func (c *Client) URL() string { return c.url }

// Call sends one request: in as JSON unless it is nil; the answer is decoded into out
// unless that is nil. A *[]byte takes it as it is.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	if c.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, c.Timeout)
		defer cancel()
		ctx = limited
	}
	response, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end, or is given up
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	switch raw, isRaw := out.(*[]byte); {
	case err != nil:
		return c.Unreachable(err)
	case isRaw:
		*raw = text
	case out != nil && response.StatusCode != http.StatusNoContent:
		if err := strictjson.DecodeOpen(text, out); err != nil {
			return fmt.Errorf("call %s: %s %s: answer is not what was expected: %w", c, method, path, err)
		}
	}
	return nil
}

// Within is the client with another Timeout.
func (c *Client) Within(limit time.Duration) *Client {
	with := *c
	with.Timeout = limit
	return &with
}

// Open asks for an answer to be read bit by bit. The caller closes its body.
func (c *Client) Open(ctx context.Context, path string) (*http.Response, error) {
	return c.send(ctx, http.MethodGet, path, nil)
}

// String names the API.
func (c *Client) String() string { return strings.TrimSpace(c.Name + " " + c.url) }

func (c *Client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, c.Unreachable(fmt.Errorf("%w: %w", ErrNotSent, err))
	}
	var body []byte
	var err error
	if in != nil {
		body, err = json.Marshal(in)
	}
	request, invalid := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err := errors.Join(err, invalid); err != nil {
		return nil, fmt.Errorf("call %s: %w: %w: %w", c, ErrNotSent, err, ErrInvalid)
	}
	request.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Repeatable {
		request.Header["Idempotency-Key"] = nil // tells the transport, and is not sent
	}
	response, err := c.transport.RoundTrip(request)
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			err = fmt.Errorf("%w: %w", ErrNotSent, err)
		}
		return nil, c.Unreachable(err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }() // a refusal is short
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return nil, c.Unreachable(err)
	}
	var answer struct {
		Error Error `json:"error"`
	}
	if err := strictjson.DecodeOpen(text, &answer); err != nil || answer.Error.Kind == "" {
		answer.Error = Error{Message: fmt.Sprintf("%s %s: %s", method, path, strings.TrimSpace(string(text)))}
	}
	answer.Error.Status, answer.Error.from = response.StatusCode, c.String()
	answer.Error.identify(c.Kinds)
	return nil, &answer.Error
}

// Unreachable is the error of a call, or of an answer that broke off.
func (c *Client) Unreachable(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("call %s: %w", c, err)
	case c.Hint != "":
		return fmt.Errorf("call %s: %s: %w: %w", c, c.Hint, err, ErrUnreachable)
	}
	return fmt.Errorf("call %s: %w: %w", c, err, ErrUnreachable)
}
