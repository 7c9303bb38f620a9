package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/locks"
	"locklab/nodes/worker"
)

const (
	// askingMax bounds looks and orders under way to one worker. They have slots of
	// their own: stuck seat requests must not keep a lock holder from looking.
	askingMax = 64
	// dialTimeout ends dials that nobody waits for any more: the requests have their
	// own, shorter timeouts.
	dialTimeout = 2 * time.Second
	// answerBytesMax bounds what is read of an answer (a listing of one group).
	answerBytesMax = 16 << 20
)

// errNotSent marks failures that happened before anything was sent: the request
// surely had no effect.
var errNotSent = errors.New("not sent")

// remote is one worker as this master reaches it.
type remote struct {
	name, zone string
	base       string // http://host:port
	header     http.Header
	transport  *http.Transport
	seating    chan struct{} // slots
	asking     chan struct{}
}

func newRemote(addr WorkerAddr, inFlightMax int) *remote {
	dialer := &net.Dialer{Timeout: dialTimeout}
	return &remote{
		name: addr.Name,
		zone: addr.Zone,
		base: "http://" + addr.Addr,
		// A nil Idempotency-Key is not sent. It tells the transport that a request may
		// be repeated when a kept-alive connection turns out to be dead; all requests
		// to workers may.
		header: http.Header{"Content-Type": {"application/json"}, "Idempotency-Key": nil},
		transport: &http.Transport{
			DialContext:         dialer.DialContext,
			DisableCompression:  true,
			MaxIdleConnsPerHost: inFlightMax + askingMax,
			MaxConnsPerHost:     inFlightMax + askingMax + 1, // the feed has one; dials count
			IdleConnTimeout:     30 * time.Second,
			ReadBufferSize:      2 << 10,
			WriteBufferSize:     2 << 10,
		},
		seating: make(chan struct{}, inFlightMax),
		asking:  make(chan struct{}, askingMax),
	}
}

// seat asks for a seat. A refusal that shows the room gives it along with the error.
func (r *remote) seat(ctx context.Context, room, player string) (*worker.Room, error) {
	select {
	case r.seating <- struct{}{}:
		defer func() { <-r.seating }()
	case <-ctx.Done(): // a link that is stuck this much will not answer in time
		return nil, fmt.Errorf("seat at %s: too many requests under way: %w", r.name, errNotSent)
	}
	var seated worker.Room
	known, err := r.call(ctx, http.MethodPost, "/v1/rooms/"+url.PathEscape(room)+"/seats",
		worker.SeatRequest{Player: player}, &seated)
	if err != nil {
		return known, fmt.Errorf("seat at %s: %w", r.name, err)
	}
	return &seated, nil
}

// order asks for a new room.
func (r *remote) order(ctx context.Context, req worker.OrderRequest) (worker.Room, error) {
	var made worker.Room
	if err := r.ask(ctx, http.MethodPost, "/v1/rooms", req, &made); err != nil {
		return worker.Room{}, fmt.Errorf("order at %s: %w", r.name, err)
	}
	return made, nil
}

// look asks for the rooms of a group.
func (r *remote) look(ctx context.Context, group string) (worker.Listing, error) {
	var listing worker.Listing
	if err := r.ask(ctx, http.MethodGet, "/v1/rooms?group="+url.QueryEscape(group), nil, &listing); err != nil {
		return worker.Listing{}, fmt.Errorf("look at %s: %w", r.name, err)
	}
	if listing.Worker != r.name {
		return worker.Listing{}, fmt.Errorf("look at %s: worker %q answered: its link leads elsewhere", r.name, listing.Worker)
	}
	return listing, nil
}

func (r *remote) ask(ctx context.Context, method, path string, body, into any) error {
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNotSent, ctx.Err())
	}
	_, err := r.call(ctx, method, path, body, into)
	return err
}

// call makes one request. A refusal is a *worker.Error, with the room that it is
// about where the worker shows it.
func (r *remote) call(ctx context.Context, method, path string, body, into any) (*worker.Room, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w: %w", errNotSent, err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, content)
	if err != nil {
		return nil, fmt.Errorf("make request: %w: %w", errNotSent, err)
	}
	req.Header = r.header // the transport only reads it
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
			return nil, fmt.Errorf("%w: %w", errNotSent, err)
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	content = io.LimitReader(resp.Body, answerBytesMax)
	if resp.StatusCode/100 == 2 {
		if err := json.UnmarshalRead(content, into); err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
		return nil, nil //nolint:nilnil // the room is for refusals
	}
	var refusal worker.ErrorReply
	if err := json.UnmarshalRead(content, &refusal); err != nil || refusal.Error.Kind == "" {
		return nil, fmt.Errorf("status %d without a reason: %w", resp.StatusCode, errors.Join(err))
	}
	return refusal.Room, &refusal.Error
}

// follow opens the feed.
func (r *remote) follow(ctx context.Context) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+"/v1/feed", nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("feed of %s: status %d", r.name, resp.StatusCode)
	}
	return resp.Body, nil
}

// effect says what became of a request to a worker, from its error.
func effect(err error) locks.Outcome {
	var refusal *worker.Error
	switch {
	case err == nil:
		return locks.OutcomeOK
	case errors.As(err, &refusal), errors.Is(err, errNotSent):
		return locks.OutcomeFailed
	default:
		return locks.OutcomeUnknown
	}
}

// refusalKind is the worker's own word for its refusal, "" if it did not refuse.
func refusalKind(err error) string {
	if refusal := (*worker.Error)(nil); errors.As(err, &refusal) {
		return refusal.Kind
	}
	return ""
}
