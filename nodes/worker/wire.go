package worker

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"locklab/nodes/worker/web"
)

// State is where a room is in its life.
type State string

// The states of a room, in order. Open is skipped by a room that fills while it
// is starting.
const (
	StateStarting State = "starting"
	StateOpen     State = "open"
	StateFull     State = "full"
	StateClosed   State = "closed"
)

// Room is a room as the API shows it.
type Room struct {
	Room     string `json:"room"`
	Group    string `json:"group"`
	Worker   string `json:"worker"`
	State    State  `json:"state"`
	Capacity int    `json:"capacity"`
	Free     int    `json:"free"`
	// Rev is the worker's change counter at the room's last change.
	Rev uint64 `json:"rev"`
}

// Listing answers GET /v1/rooms. It holds every change up to Rev.
type Listing struct {
	Worker string `json:"worker"`
	// Incarnation differs after every restart of the worker, which loses all rooms.
	Incarnation string `json:"incarnation"`
	Rev         uint64 `json:"rev"`
	Live        int    `json:"live"` // rooms of all groups that are not closed
	RoomsMax    int    `json:"rooms_max"`
	Rooms       []Room `json:"rooms"`
}

// LineType says what a line of the feed is.
type LineType string

// The types of feed lines.
const (
	LineSnapshot LineType = "snapshot"
	LineChange   LineType = "change"
	LineBeat     LineType = "beat"
)

// FeedLine is one line of the feed. It holds every change from Prev, the Rev of
// the line before, up to Rev: a follower that finds a gap has lost a line.
type FeedLine struct {
	Type        LineType `json:"type"`
	Worker      string   `json:"worker"`
	Incarnation string   `json:"incarnation"`
	Prev        uint64   `json:"prev,omitzero"`
	Rev         uint64   `json:"rev"`
	Live        int      `json:"live"`
	Rooms       []Room   `json:"rooms,omitzero"`
}

// OrderRequest is the body of POST /v1/rooms.
type OrderRequest struct {
	Group string `json:"group"`
	Order string `json:"order"` // names the order: repeating it makes no second room
	By    string `json:"by"`    // the master
	Token uint64 `json:"token,omitzero"`
}

// SeatRequest is the body of POST /v1/rooms/{id}/seats.
type SeatRequest struct {
	Player string `json:"player"`
}

// The kinds of errors, which say what a client should do next.
const (
	KindInvalid  = "invalid"   // 400, 413: the request is wrong; so would a repetition be
	KindNotFound = "not-found" // 404
	KindFull     = "full"      // 409: look for another room
	KindClosed   = "closed"    // 409: look for another room
	KindFenced   = "fenced"    // 409: a later holder of the lock was here before
	KindConflict = "conflict"  // 409: the order id belongs to another group
	KindBusy     = "busy"      // 429: too many feeds
	KindStopping = "stopping"  // 503: the worker is going down
	KindCapacity = "capacity"  // 507: no space for another room or group
)

// Error is a refusal: the request surely had no effect.
type Error struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Kind + ": " + e.Message }

// ErrorReply is the body of every answer that is not a success. Room is set where
// the refusal is about a known room.
type ErrorReply struct {
	Error Error `json:"error"`
	Room  *Room `json:"room,omitzero"`
}

func refuse(kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func (e *Error) status() int {
	switch e.Kind {
	case KindInvalid:
		return http.StatusBadRequest
	case KindNotFound:
		return http.StatusNotFound
	case KindFull, KindClosed, KindFenced, KindConflict:
		return http.StatusConflict
	case KindBusy:
		return http.StatusTooManyRequests
	case KindCapacity:
		return http.StatusInsufficientStorage
	default:
		return http.StatusServiceUnavailable
	}
}

func decodeOrder(body io.Reader) (OrderRequest, error) {
	var req OrderRequest
	if err := web.Decode(body, &req); err != nil {
		return OrderRequest{}, err
	}
	return req, errors.Join(
		web.CheckName("group", req.Group), web.CheckName("order", req.Order), web.CheckName("by", req.By))
}

func decodeSeat(body io.Reader) (SeatRequest, error) {
	var req SeatRequest
	if err := web.Decode(body, &req); err != nil {
		return SeatRequest{}, err
	}
	return req, web.CheckName("player", req.Player)
}
