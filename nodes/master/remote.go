package master

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

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

	patience time.Duration   // with the answer to a look, whoever still waits for it
	life     context.Context //nolint:containedctx // ends with the master, for looks that nobody waits for
	end      context.CancelFunc
	looking  sync.WaitGroup

	mu   sync.Mutex
	next map[string]*look // those that have not begun, by group
}

// look is the question what rooms of a group a worker has.
type look struct {
	wanted  int           // by so many; guarded by remote.mu
	done    chan struct{} // closed when the rest is there
	listing worker.Listing
	err     error
}

func newRemote(addr WorkerAddr, token string, patience time.Duration, tracer *tracing.Tracer) *remote {
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

		patience: patience,
		next:     map[string]*look{},
	}
	r.life, r.end = context.WithCancel(context.Background())
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
	defer func() { span.End(err) }()
	span.Set("worker", r.name)
	if err = r.ask(ctx, r.asking, http.MethodPost, "/v1/rooms", req, &made); err != nil {
		return worker.Room{}, fmt.Errorf("order at %s: %w", r.name, err)
	}
	return made, nil
}

// look asks for the rooms of a group. Its answer was made after it was called: while it
// waits for a slot, others who want the same join it, but nobody does once it has begun. So
// there is one look for all who wait, however many they are, where a worker or the way
// to it is too slow for all who ask.
func (r *remote) look(ctx context.Context, group string) (worker.Listing, error) {
	l := r.join(ctx, group)
	select {
	case <-l.done:
		return l.listing, l.err
	case <-ctx.Done():
		r.mu.Lock()
		l.wanted--
		r.mu.Unlock()
		return worker.Listing{}, fmt.Errorf("look at %s: %w", r.name, ctx.Err())
	}
}

// join finds or makes the next look at the group.
func (r *remote) join(ctx context.Context, group string) *look {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.next[group]
	if !ok {
		l = &look{done: make(chan struct{})}
		r.next[group] = l
		r.looking.Go(func() {
			defer close(l.done)
			l.listing, l.err = r.makeLook(context.WithoutCancel(ctx), l, group)
		})
	}
	l.wanted++
	return l
}

// makeLook begins a look when there is a slot for it, if somebody still wants it then. It
// keeps the slot until the answer is there, even if nobody waits any more: to hang up and
// to ask again over a new connection is many times the work, just when there is too much.
func (r *remote) makeLook(ctx context.Context, l *look, group string) (listing worker.Listing, err error) {
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-r.life.Done():
	}
	if !r.begin(l, group) {
		return worker.Listing{}, fmt.Errorf("look at %s: nobody waits for it: %w", r.name, httpapi.ErrNotSent)
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)() //nolint:contextcheck // the caller may leave, the master ends it
	if err := r.http.Call(ctx, http.MethodGet, "/v1/rooms?group="+url.QueryEscape(group), nil, &listing); err != nil {
		return worker.Listing{}, fmt.Errorf("look at %s: %w", r.name, err)
	}
	if listing.Worker != r.name {
		return worker.Listing{}, fmt.Errorf("look at %s: worker %q answered: its link leads elsewhere", r.name, listing.Worker)
	}
	return listing, nil
}

// begin lets nobody join any more, and says whether somebody has.
func (r *remote) begin(l *look, group string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.next, group)
	return l.wanted > 0
}

// close ends the looks that nobody waits for any more, and frees the connections.
func (r *remote) close() {
	r.end()
	r.looking.Wait()
	r.http.Close()
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
