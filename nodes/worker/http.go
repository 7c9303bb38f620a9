package worker

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/tracing"
	"locklab/locks/clock"
)

// feedWriteTimeout ends a feed whose connection is full.
const feedWriteTimeout = 5 * time.Second

// bodyMax bounds the bytes of a request.
const bodyMax = 4 << 10

func (w *Worker) api() *httpapi.API {
	a := httpapi.New(httpapi.Config{Name: "worker " + w.settings.Name, Token: w.settings.Token, MaxBody: bodyMax, Log: w.log, Level: slog.LevelDebug})
	httpapi.Post(a, "POST /v1/rooms", w.handleOrder)
	httpapi.Post(a, "POST /v1/rooms/{id}/seats", w.handleSeat)
	a.Get("GET /v1/rooms", func(r *http.Request) (any, error) {
		query := r.URL.Query()
		return w.rooms.list(query.Get("group"), !query.Has("group")), nil
	})
	a.Get("GET /v1/status", func(*http.Request) (any, error) { return w.rooms.status(), nil })
	a.Get("GET /v1/health", func(*http.Request) (any, error) { return nil, nil })
	a.Stream("GET /v1/feed", w.handleFeed)
	return a
}

// Handler serves the API.
func (w *Worker) Handler() http.Handler { return w.http }

func (w *Worker) handleOrder(r *http.Request, req OrderRequest) (any, error) {
	if err := errors.Join(CheckName("group", req.Group), CheckName("order", req.Order), CheckName("by", req.By)); err != nil {
		return nil, err
	}
	_, span := w.settings.Tracer.Join(r.Context(), r.Header.Get(tracing.Header), "create room")
	room, created, refusal := w.rooms.order(req)
	span.End(nil, "group", req.Group, "room", room.Room, "result", resultOf(refusal))
	w.metrics.orders.WithLabelValues(resultOf(refusal)).Inc()
	switch {
	case refusal != nil:
		return nil, refusal
	case created:
		return httpapi.Status{Code: http.StatusCreated, Body: room}, nil
	}
	return room, nil
}

func (w *Worker) handleSeat(r *http.Request, req SeatRequest) (any, error) {
	if err := CheckName("player", req.Player); err != nil {
		return nil, err
	}
	room, refusal := w.rooms.seat(r.PathValue("id"), req.Player)
	w.metrics.seats.WithLabelValues(resultOf(refusal)).Inc()
	switch {
	case refusal != nil && room.Room != "":
		return httpapi.More{"room": room}, refusal
	case refusal != nil:
		return nil, refusal
	}
	return room, nil
}

// handleFeed writes lines until the client leaves, does not read any more, or the
// worker stops.
func (w *Worker) handleFeed(rw http.ResponseWriter, r *http.Request) error {
	f, line, refusal := w.rooms.subscribe()
	if refusal != nil {
		return refusal
	}
	defer f.unsubscribe()
	rw.Header().Set("Content-Type", "application/x-ndjson")
	out := http.NewResponseController(rw)
	timer := clock.System().NewTimer(w.settings.Heartbeat)
	defer timer.Stop()
	for {
		if err := w.writeLine(rw, out, line); err != nil {
			w.log.Debug("feed ended", slog.String("client", r.RemoteAddr), slog.Any("error", err))
			return nil
		}
		sent, next := clock.Mono(), w.settings.Heartbeat // when the next line goes, after this one
		timer.Reset(next)
		sooner := func(gap time.Duration) { // what changes during the gap travels together
			if gap < next {
				next = gap
				timer.Reset(time.Duration(sent-clock.Mono()) + gap)
			}
		}
		news, wake := f.news, f.wake
		for waiting := true; waiting; {
			select {
			case <-news:
				sooner(feedGap)
				news, wake = nil, nil
			case <-wake:
				sooner(seatGap)
				wake = nil
			case <-timer.C():
				waiting = false
			case <-r.Context().Done():
				return nil
			case <-w.stopping:
				return nil
			}
		}
		line = f.take()
	}
}

func (w *Worker) writeLine(rw http.ResponseWriter, out *http.ResponseController, line FeedLine) error {
	if err := out.SetWriteDeadline(clock.System().Now().Add(feedWriteTimeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	text, err := httpapi.Line(line)
	if err == nil {
		_, err = rw.Write(text)
	}
	return errors.Join(err, out.Flush())
}
