package worker

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/nodes/worker/web"
)

// Settings says how a worker behaves. Its JSON form writes durations as text
// ("150ms"), knows every field and keeps what it does not mention.
type Settings struct {
	// Name is the node's name; rooms carry it.
	Name string `json:"name"`
	// Capacity is the number of seats of a room.
	Capacity int `json:"capacity"`
	// Boot is how long a room takes to start.
	Boot time.Duration `json:"boot,format:units"`
	// MemoryKiB is what a room really allocates.
	MemoryKiB int `json:"memory_kib"`
	// Life is how long a full room is played in before it closes.
	Life time.Duration `json:"life,format:units"`
	// MaxOpen is how long a room waits for players before it closes half empty.
	MaxOpen time.Duration `json:"max_open,format:units"`
	// MaxRooms bounds the rooms that are not closed.
	MaxRooms int `json:"max_rooms"`
	// CheckTokens refuses orders whose fencing token is below one seen for the group.
	CheckTokens bool `json:"check_tokens"`
	// Heartbeat is the longest silence on a feed.
	Heartbeat time.Duration `json:"heartbeat,format:units"`
	// FeedGap is the shortest time between two lines of a feed: changes within it
	// travel together.
	FeedGap time.Duration `json:"feed_gap,format:units"`
	// SeatGap is the same while only seats were taken: that a room begins, is full or
	// ends is news, how many seats it has left is not worth a line each time.
	SeatGap time.Duration `json:"seat_gap,format:units"`
}

// DefaultSettings has everything but the name.
func DefaultSettings() Settings {
	return Settings{
		Capacity:  8,
		Boot:      150 * time.Millisecond,
		MemoryKiB: 64,
		Life:      2 * time.Second,
		MaxOpen:   30 * time.Second,
		MaxRooms:  4096,
		Heartbeat: 100 * time.Millisecond,
		FeedGap:   5 * time.Millisecond,
		SeatGap:   100 * time.Millisecond,
	}
}

// ParseSettings reads JSON on top of the defaults and checks the result.
func ParseSettings(text []byte) (Settings, error) {
	s := DefaultSettings()
	if err := s.UnmarshalJSON(text); err != nil {
		return Settings{}, err
	}
	return s, s.validate()
}

// MarshalJSON writes all fields.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	return json.Marshal(plain(s))
}

// UnmarshalJSON is strict: an unknown field is an error.
func (s *Settings) UnmarshalJSON(text []byte) error {
	type plain Settings
	if err := json.Unmarshal(text, (*plain)(s), json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("decode worker settings: %w", err)
	}
	return nil
}

func (s Settings) validate() error {
	between := func(field string, value, low, high int) error {
		if value < low || value > high {
			return fmt.Errorf("worker settings: %s is %d: want %d to %d", field, value, low, high)
		}
		return nil
	}
	positive := func(field string, d time.Duration) error {
		if d <= 0 {
			return fmt.Errorf("worker settings: %s is %v: want a positive duration such as 100ms", field, d)
		}
		return nil
	}
	var boot error
	if s.Boot < 0 {
		boot = fmt.Errorf("worker settings: boot is %v: want 0s or more", s.Boot)
	}
	var name error
	if err := web.CheckName("name", s.Name); err != nil {
		name = fmt.Errorf("worker settings: %w", err)
	}
	return errors.Join(
		name, boot,
		between("capacity", s.Capacity, 1, 10_000),
		between("memory_kib", s.MemoryKiB, 0, 1<<20),
		between("max_rooms", s.MaxRooms, 1, 1_000_000),
		positive("life", s.Life),
		positive("max_open", s.MaxOpen),
		positive("heartbeat", s.Heartbeat),
		positive("feed_gap", s.FeedGap),
		positive("seat_gap", s.SeatGap),
	)
}
