package worker

import (
	"errors"
	"fmt"
	"time"
	"unicode"

	"locklab/internal/httpapi"
	"locklab/internal/strictjson"
	"locklab/internal/tracing"
)

// Settings says how a worker behaves. What has no JSON name is set by tests only.
type Settings struct {
	// Name is the node's name; rooms carry it.
	Name string `json:"name"`
	// Capacity is the number of seats of a room.
	Capacity int `json:"capacity"`
	// Token is what every request must bear, so that only the run's masters order rooms;
	// "" lets everybody.
	Token string `json:"token,omitzero"`
	// OTLP is host:port of the collector that traces go to; "" is none.
	OTLP string `json:"otlp,omitzero"`
	// Tracer takes part in the traces of masters; nil does not.
	Tracer *tracing.Tracer `json:"-"`

	// Boot is how long a room takes to start.
	Boot time.Duration `json:"-"`
	// MemoryKiB is what a room really allocates.
	MemoryKiB int `json:"-"`
	// Life is how long a full room is played in before it closes.
	Life time.Duration `json:"-"`
	// MaxRooms bounds the rooms that are not closed.
	MaxRooms int `json:"-"`
	// Heartbeat is the longest silence on a feed: a quarter of what makes a master suspicious,
	// so that a busy machine does not make it ask workers that are well.
	Heartbeat time.Duration `json:"-"`
}

const (
	// maxOpen is how long a room waits for players before it closes half empty.
	maxOpen = 30 * time.Second
	// feedGap is the shortest time between two lines of a feed: changes within it travel
	// together.
	feedGap = 5 * time.Millisecond
	// seatGap is the same while only seats were taken: that a room begins, is full or
	// ends is news, how many seats it has left is not worth a line each time.
	seatGap = 100 * time.Millisecond
)

// DefaultSettings has everything but the name.
func DefaultSettings() Settings {
	return Settings{
		Capacity:  8,
		Boot:      150 * time.Millisecond,
		MemoryKiB: 64,
		Life:      2 * time.Second,
		MaxRooms:  4096,
		Heartbeat: 100 * time.Millisecond,
	}
}

// ParseSettings reads JSON on top of the defaults and checks the result.
func ParseSettings(text []byte) (Settings, error) {
	s := DefaultSettings()
	if err := strictjson.Decode(text, &s); err != nil {
		return Settings{}, fmt.Errorf("read worker settings: %w", err)
	}
	return s, s.validate()
}

func (s Settings) validate() error {
	err := CheckName("name", s.Name)
	if s.Capacity < 1 || s.Capacity > 10_000 {
		err = errors.Join(err, fmt.Errorf("capacity is %d: want 1 to 10000", s.Capacity))
	}
	if err != nil {
		return fmt.Errorf("worker settings: %w", err)
	}
	return nil
}

const nameBytesMax = 128

// CheckName refuses names that are empty, long or have control characters.
func CheckName(field, value string) error {
	if value == "" || len(value) > nameBytesMax {
		return fmt.Errorf("field %q has %d bytes: want 1 to %d: %w", field, len(value), nameBytesMax, httpapi.ErrInvalid)
	}
	for _, r := range value {
		if unicode.IsControl(r) {
			return fmt.Errorf("field %q is %q: want no control characters: %w", field, value, httpapi.ErrInvalid)
		}
	}
	return nil
}
