package worker

import (
	"errors"
	"fmt"
	"time"

	"locklab/internal/httpapi"
	"locklab/internal/strictjson"
)

// Port is the name of the role's port.
const Port = "http"

// Room is a room as the API shows it.
type Room struct {
	ID       string `json:"room"`
	Group    string `json:"group"`
	Worker   string `json:"worker"`
	State    string `json:"state"` // as in histories
	Capacity int    `json:"capacity"`
	Free     int    `json:"free"`
	// Rev is the worker's change counter at the room's last change.
	Rev uint64 `json:"rev"`
}

// Listing answers GET /v1/rooms. It includes every change up to Rev.
type Listing struct {
	// Incarnation changes with every restart of the worker, which loses all rooms.
	Incarnation string `json:"incarnation"`
	Rev         uint64 `json:"rev"`
	Live        int    `json:"live"` // rooms of all groups that are not closed
	RoomsMax    int    `json:"rooms_max"`
	Rooms       []Room `json:"rooms"`
}

// FeedLine is one line of the feed: all live rooms in the first line, and in others the rooms that changed since
// the line before, perhaps none. A follower then has every change up to Rev.
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

// The kinds of refusals. A refused request surely had no effect.
const (
	KindNotFound = "not-found" // 404
	KindFull     = "full"      // 409: look for another room
	KindClosed   = "closed"    // 409: look for another room
	KindCapacity = "capacity"  // 507: no space for another room
)

// Settings configures a worker. Only tests set the fields without a JSON name.
type Settings struct {
	// Name is the node's name; rooms carry it.
	Name string `json:"name"`
	// Capacity is the number of seats of a room.
	Capacity int `json:"capacity"`
	// Token must come with every request, so that only the run's masters order rooms;
	// "" allows every request.
	Token string `json:"token,omitzero"`
	// Boot is the boot time of a room.
	Boot time.Duration `json:"-"`
	// Life is the time after which a full room closes.
	Life time.Duration `json:"-"`
	// MaxRooms bounds the rooms that are not closed.
	MaxRooms int `json:"-"`
	// Heartbeat is the longest silence on a feed: a quarter of the silence after which a master
	// suspects the worker, so that a busy machine causes no suspicion.
	Heartbeat time.Duration `json:"-"`
}

// DefaultSettings returns all settings but the name.
func DefaultSettings() Settings {
	return Settings{
		Capacity:  8,
		Boot:      150 * time.Millisecond,
		Life:      2 * time.Second,
		MaxRooms:  4096,
		Heartbeat: 100 * time.Millisecond,
	}
}

// parseSettings reads JSON over the defaults and checks the result.
func parseSettings(text []byte) (Settings, error) {
	s := DefaultSettings()
	if err := strictjson.Decode(text, &s); err != nil {
		return Settings{}, fmt.Errorf("read worker settings: %w", err)
	}
	err := CheckName("name", s.Name)
	if s.Capacity < 1 {
		err = errors.Join(err, fmt.Errorf("capacity is %d: want 1 or more", s.Capacity))
	}
	if err != nil {
		return Settings{}, fmt.Errorf("worker settings: %w", err)
	}
	return s, nil
}

const nameBytesMax = 128

// CheckName refuses names that are empty or too long.
func CheckName(field, value string) error {
	if value == "" || len(value) > nameBytesMax {
		return fmt.Errorf("field %q has %d bytes: want 1 to %d: %w", field, len(value), nameBytesMax, httpapi.ErrInvalid)
	}
	return nil
}

func refuse(status int, kind, format string, args ...any) *httpapi.Error {
	return &httpapi.Error{Status: status, Kind: kind, Message: fmt.Sprintf(format, args...)}
}
