package worker

import (
	"fmt"

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
	// Incarnation differs after every restart of the worker, which loses all rooms.
	Incarnation string `json:"incarnation"`
	Rev         uint64 `json:"rev"`
	Live        int    `json:"live"` // rooms of all groups that are not closed
	RoomsMax    int    `json:"rooms_max"`
	Rooms       []Room `json:"rooms"`
}

// FeedLine is one line of the feed: all live rooms if it is the first, and those that changed since the line
// before in all others. None may have changed: the worker lives. With it a follower has every change up to Rev.
type FeedLine struct {
	Incarnation string `json:"incarnation"`
	Rev         uint64 `json:"rev"`
	Rooms       []Room `json:"rooms,omitzero"`
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
// had no effect.
const (
	KindNotFound = "not-found" // 404
	KindFull     = "full"      // 409: look for another room
	KindClosed   = "closed"    // 409: look for another room
	KindCapacity = "capacity"  // 507: no space for another room
)

func refuse(status int, kind, format string, args ...any) *httpapi.Error {
	return &httpapi.Error{Status: status, Kind: kind, Message: fmt.Sprintf(format, args...)}
}
