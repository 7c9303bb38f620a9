package master

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/strictjson"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/worker"
)

// remote is one worker as this master reaches it.
type remote struct {
	WorkerAddr
	http *httpapi.Client
}

func newRemote(addr WorkerAddr, token string) *remote {
	config := httpapi.ClientConfig{Name: "worker " + addr.Name, Token: token, Repeatable: true}
	return &remote{addr, httpapi.NewClient("http://"+addr.Addr, config)}
}

// seat asks for a seat.
func (r *remote) seat(ctx context.Context, room, player string) (seated worker.Room, err error) {
	path := "/v1/rooms/" + url.PathEscape(room) + "/seats"
	err = r.http.Call(ctx, http.MethodPost, path, worker.SeatRequest{Player: player}, &seated)
	return seated, err
}

// order asks for a new room.
func (r *remote) order(ctx context.Context, req worker.OrderRequest) (made worker.Room, err error) {
	err = r.http.Call(ctx, http.MethodPost, "/v1/rooms", req, &made)
	return made, err
}

// look asks for the rooms of a group.
func (r *remote) look(ctx context.Context, group string) (listing worker.Listing, err error) {
	err = r.http.Call(ctx, http.MethodGet, "/v1/rooms?group="+url.QueryEscape(group), nil, &listing)
	return listing, err
}

// effect says what became of a request to a worker, from its error.
func effect(err error) locks.Outcome {
	switch {
	case err == nil:
		return locks.OutcomeOK
	case httpapi.KindOf(err) != "", errors.Is(err, httpapi.ErrNotSent):
		return locks.OutcomeFailed
	default:
		return locks.OutcomeUnknown
	}
}

const (
	// lineBytesMax bounds a line of a feed; the first is the longest.
	lineBytesMax = 64 << 20
	// redial is the pause before a feed is dialled anew.
	redial = 50 * time.Millisecond
)

// follow keeps the directory up to date from one worker's feed until ctx ends.
func (m *Master) follow(ctx context.Context, r *remote) {
	for ctx.Err() == nil {
		err := m.followOnce(ctx, r)
		m.directory.unfollowed(r)
		m.Log.Debug("feed interrupted", slog.String("worker", r.Name), slog.Any("error", err))
		_ = clock.Sleep(ctx, redial) // the loop looks at ctx
	}
}

// followOnce reads one connection until it ends or nothing comes.
func (m *Master) followOnce(ctx context.Context, r *remote) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := clock.System().AfterFunc(m.settings.FeedReset, cancel)
	defer watchdog.Stop()
	answer, err := r.http.Open(ctx, "/v1/feed")
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(make([]byte, 0, 16<<10), lineBytesMax)
	for first := true; lines.Scan(); first = false {
		var line worker.FeedLine
		if err := strictjson.DecodeOpen(lines.Bytes(), &line); err != nil {
			return err
		}
		m.directory.merge(r, line, first)
		watchdog.Reset(m.settings.FeedReset)
	}
	return lines.Err()
}
