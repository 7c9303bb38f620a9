package worker

import (
	"fmt"
	"net/http"

	"locklab/internal/httpapi"
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

// Status answers GET /v1/status.
type Status struct {
	Name        string `json:"name"`
	Incarnation string `json:"incarnation"`
	Live        int    `json:"live"`
	Made        uint64 `json:"made"` // rooms since the start
	Feeds       int    `json:"feeds"`
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
}

// SeatRequest is the body of POST /v1/rooms/{id}/seats.
type SeatRequest struct {
	Player string `json:"player"`
}

// The kinds of refusals, which say what a client should do next. A refused request surely
// had no effect. Those about a known room show it beside the error, as "room".
const (
	KindNotFound = "not-found" // 404
	KindFull     = "full"      // 409: look for another room
	KindClosed   = "closed"    // 409: look for another room
	KindConflict = "conflict"  // 409: the order id belongs to another group
	KindBusy     = "busy"      // 429: too many feeds
	KindStopping = "stopping"  // 503: the worker is going down
	KindCapacity = "capacity"  // 507: no space for another room
)

func refuse(kind, format string, args ...any) *httpapi.Error {
	return &httpapi.Error{Kind: kind, Message: fmt.Sprintf(format, args...), Status: statusOf(kind)}
}

func statusOf(kind string) int {
	switch kind {
	case KindNotFound:
		return http.StatusNotFound
	case KindFull, KindClosed, KindConflict:
		return http.StatusConflict
	case KindBusy:
		return http.StatusTooManyRequests
	case KindCapacity:
		return http.StatusInsufficientStorage
	default:
		return http.StatusServiceUnavailable
	}
}
