package master

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"locklab/internal/httpapi"
	"locklab/internal/strictjson"
	"locklab/internal/tracing"
	"locklab/locks"
	"locklab/nodes/worker"
)

const (
	// seatingMax bounds the seat requests under way to one worker, and with them the
	// connections that pile up on a link that holds bytes back.
	seatingMax = 256
	// askingMax bounds looks and orders under way to one worker. They have slots of
	// their own: stuck seat requests must not keep a lock holder from looking.
	askingMax = 64
)

// remote is one worker as this master reaches it.
type remote struct {
	name, zone string
	http       *httpapi.Client
	seating    chan struct{} // slots
	asking     chan struct{}
	tracer     *tracing.Tracer
}

func newRemote(addr WorkerAddr, token string, tracer *tracing.Tracer) *remote {
	r := &remote{
		name: addr.Name,
		zone: addr.Zone,
		http: httpapi.NewClient("http://"+addr.Addr, httpapi.ClientConfig{
			Name: "worker", Token: token, Repeatable: true,
			Conns: seatingMax + askingMax + 1, // the feed has one; dials count
		}),
		seating: make(chan struct{}, seatingMax),
		asking:  make(chan struct{}, askingMax),
		tracer:  tracer,
	}
	if tracer != nil {
		r.http.Trace = tracing.Parent
	}
	return r
}

// seat asks for a seat. A refusal that shows the room gives it along with the error.
func (r *remote) seat(ctx context.Context, room, player string) (*worker.Room, error) {
	var seated worker.Room
	err := r.ask(ctx, r.seating, http.MethodPost, "/v1/rooms/"+url.PathEscape(room)+"/seats", worker.SeatRequest{Player: player}, &seated)
	if err == nil {
		return &seated, nil
	}
	var shown struct {
		Room *worker.Room `json:"room"`
	}
	if refusal, ok := errors.AsType[*httpapi.Error](err); ok {
		_ = strictjson.DecodeOpen(refusal.Body, &shown) // a refusal need not show a room
	}
	return shown.Room, fmt.Errorf("seat at %s: %w", r.name, err)
}

// order asks for a new room.
func (r *remote) order(ctx context.Context, req worker.OrderRequest) (worker.Room, error) {
	var made worker.Room
	var err error
	ctx, span := r.tracer.Begin(ctx, "order room", tracing.Client)
	defer func() { span.End(err, "worker", r.name) }()
	if err = r.ask(ctx, r.asking, http.MethodPost, "/v1/rooms", req, &made); err != nil {
		return worker.Room{}, fmt.Errorf("order at %s: %w", r.name, err)
	}
	return made, nil
}

// look asks for the rooms of a group.
func (r *remote) look(ctx context.Context, group string) (listing worker.Listing, err error) {
	if err := r.ask(ctx, r.asking, http.MethodGet, "/v1/rooms?group="+url.QueryEscape(group), nil, &listing); err != nil {
		return worker.Listing{}, fmt.Errorf("look at %s: %w", r.name, err)
	}
	if listing.Worker != r.name {
		return worker.Listing{}, fmt.Errorf("look at %s: worker %q answered: its link leads elsewhere", r.name, listing.Worker)
	}
	return listing, nil
}

// ask makes one request in a slot. A link that is stuck so much that none gets free will
// not answer in time.
func (r *remote) ask(ctx context.Context, slots chan struct{}, method, path string, body, into any) error {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return fmt.Errorf("too many requests under way: %w: %w", httpapi.ErrNotSent, ctx.Err())
	}
	return r.http.Call(ctx, method, path, body, into)
}

// effect says what became of a request to a worker, from its error.
func effect(err error) locks.Outcome {
	_, refused := errors.AsType[*httpapi.Error](err)
	switch {
	case err == nil:
		return locks.OutcomeOK
	case refused && httpapi.KindOf(err) != "", errors.Is(err, httpapi.ErrNotSent):
		return locks.OutcomeFailed
	default:
		return locks.OutcomeUnknown
	}
}
