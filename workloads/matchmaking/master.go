package matchmaking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks"
)

// Master is one matchmaking server.
type Master struct {
	Name string
	URL  string // http://host:port
}

// downFor is how long a master that refused gets no players, as long as another
// master is up.
const downFor = 200 * time.Millisecond

// errDown says that the master will never answer this request: it refused the
// connection (then the request is surely not done) or broke it (then its outcome is unknown).
var errDown = errors.New("matchmaking: master is down")

// master is one server with its connections.
type master struct {
	Master
	http      *httpapi.Client
	downUntil atomic.Int64 // on clock.Mono
}

func newMaster(m Master) *master {
	return &master{Master: m, http: httpapi.NewClient(m.URL, httpapi.ClientConfig{
		Name: "master",
		// A master may have closed an idle connection meanwhile, which says nothing about it.
		Repeatable: true,
	})}
}

// player is the body of a request, seat that of an answer.
type player struct {
	Player string `json:"player"`
	Group  string `json:"group"`
}

type seat struct {
	Room   string `json:"room"`
	Worker string `json:"worker"`
}

// match asks the master for a seat. Its error wraps one of the three outcomes.
func (m *master) match(ctx context.Context, name, group string) (got seat, err error) {
	err = m.http.Call(ctx, http.MethodPost, "/v1/match", player{name, group}, &got)
	refusal, refused := errors.AsType[*httpapi.Error](err)
	switch {
	case err == nil:
		return got, nil
	case refused && refusal.Outcome == string(locks.OutcomeFailed):
		return got, fmt.Errorf("%w: %w", locks.ErrNotAcquired, err)
	case errors.Is(err, httpapi.ErrNotSent) && ctx.Err() != nil:
		return got, fmt.Errorf("%w: %w", locks.ErrNotAcquired, ctx.Err())
	case errors.Is(err, httpapi.ErrNotSent):
		return got, fmt.Errorf("%w: %w: %w", errDown, locks.ErrNotAcquired, err)
	case ctx.Err() != nil:
		return got, fmt.Errorf("%w: %w", locks.ErrUnknown, ctx.Err())
	case errors.Is(err, httpapi.ErrUnreachable):
		return got, fmt.Errorf("%w: %w: %w", errDown, locks.ErrUnknown, err)
	}
	return got, fmt.Errorf("%w: %w", locks.ErrUnknown, err)
}

// errorKind names the error as the history does: the master's own word if it
// gave one.
func errorKind(err error) string {
	if refusal, refused := errors.AsType[*httpapi.Error](err); refused {
		return cmp.Or(refusal.Kind, "http-"+strconv.Itoa(refusal.Status))
	}
	switch { // the outcome has its own field, so the reason is the more telling word
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, locks.ErrUnavailable):
		return "unavailable"
	}
	return locks.ErrorKind(err)
}
