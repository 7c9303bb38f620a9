package worker

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"locklab/locks/clock"
	"locklab/nodes/worker/web"
)

// feedWriteTimeout ends feeds that nobody reads: their connection is full.
const feedWriteTimeout = 5 * time.Second

// Handler serves the API.
func (w *Worker) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/rooms", w.serveOrder)
	mux.HandleFunc("POST /v1/rooms/{id}/seats", w.serveSeat)
	mux.HandleFunc("GET /v1/rooms", w.serveRooms)
	mux.HandleFunc("GET /v1/feed", w.serveFeed)
	mux.HandleFunc("GET /v1/status", w.serveStatus)
	mux.HandleFunc("GET /v1/health", func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (w *Worker) serveOrder(rw http.ResponseWriter, r *http.Request) {
	req, err := decodeOrder(web.Bounded(rw, r))
	if err != nil {
		w.refuseBody(rw, err)
		return
	}
	room, created, refusal := w.hall.order(req)
	switch {
	case refusal != nil:
		w.json.Reply(rw, refusal.status(), ErrorReply{Error: *refusal})
	case created:
		w.json.Reply(rw, http.StatusCreated, room)
	default:
		w.json.Reply(rw, http.StatusOK, room)
	}
}

func (w *Worker) serveSeat(rw http.ResponseWriter, r *http.Request) {
	req, err := decodeSeat(web.Bounded(rw, r))
	if err != nil {
		w.refuseBody(rw, err)
		return
	}
	room, refusal := w.hall.seat(r.PathValue("id"), req.Player)
	switch {
	case refusal != nil && room.Room != "":
		w.json.Reply(rw, refusal.status(), ErrorReply{Error: *refusal, Room: &room})
	case refusal != nil:
		w.json.Reply(rw, refusal.status(), ErrorReply{Error: *refusal})
	default:
		w.json.Reply(rw, http.StatusOK, room)
	}
}

func (w *Worker) serveRooms(rw http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	w.json.Reply(rw, http.StatusOK, w.hall.list(query.Get("group"), !query.Has("group")))
}

// Status answers GET /v1/status.
type Status struct {
	Name        string   `json:"name"`
	Incarnation string   `json:"incarnation"`
	Live        int      `json:"live"`
	Made        uint64   `json:"made"` // rooms since the start
	Feeds       int      `json:"feeds"`
	Settings    Settings `json:"settings"`
}

func (w *Worker) serveStatus(rw http.ResponseWriter, _ *http.Request) {
	w.json.Reply(rw, http.StatusOK, w.hall.status())
}

func (h *hall) status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return Status{
		Name: h.settings.Name, Incarnation: h.incarnation,
		Live: h.live, Made: h.made, Feeds: len(h.feeds), Settings: h.settings,
	}
}

// serveFeed writes lines until the client leaves, does not read any more, or the
// worker stops.
func (w *Worker) serveFeed(rw http.ResponseWriter, r *http.Request) {
	f, line, refusal := w.hall.subscribe()
	if refusal != nil {
		w.json.Reply(rw, refusal.status(), ErrorReply{Error: *refusal})
		return
	}
	defer f.unsubscribe()
	rw.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(rw)
	// The server's read timeout would end the feed: it is for requests.
	if err := out.SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		w.log.Debug("feed not started", slog.Any("error", err))
		return
	}
	beat := w.clock.NewTimer(w.settings.Heartbeat)
	defer beat.Stop()
	gap := w.clock.NewTimer(w.settings.FeedGap)
	defer gap.Stop()
	seats := w.clock.NewTimer(w.settings.SeatGap)
	defer seats.Stop()
	for {
		if err := w.writeLine(rw, out, line); err != nil {
			w.log.Debug("feed ended", slog.String("client", r.RemoteAddr), slog.Any("error", err))
			return
		}
		beat.Reset(w.settings.Heartbeat)
		gap.Reset(w.settings.FeedGap)
		seats.Reset(w.settings.SeatGap)
		select { // what changes during the gap travels together
		case <-gap.C():
		case <-r.Context().Done():
			return
		case <-w.stopping:
			return
		}
		wake := (<-chan struct{})(nil) // for seats only once their gap is over
	waiting:
		for {
			select {
			case <-f.news:
				break waiting
			case <-wake:
				break waiting
			case <-seats.C():
				wake = f.wake
			case <-beat.C():
				break waiting
			case <-r.Context().Done():
				return
			case <-w.stopping:
				return
			}
		}
		line = f.take()
	}
}

func (w *Worker) writeLine(rw http.ResponseWriter, out *http.ResponseController, line FeedLine) error {
	if err := out.SetWriteDeadline(clock.System().Now().Add(feedWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := w.json.WriteLine(rw, line); err != nil {
		return err
	}
	return out.Flush()
}

func (w *Worker) refuseBody(rw http.ResponseWriter, err error) {
	w.json.Reply(rw, web.StatusOf(err), ErrorReply{Error: Error{Kind: KindInvalid, Message: err.Error()}})
}
