package master

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/nodes/worker/web"
)

// WorkerAddr says where a worker is to be reached from here: the address of the
// link to it.
type WorkerAddr struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	Addr string `json:"addr"` // host:port
}

// Settings says how a master behaves. Its JSON form writes durations as text
// ("250ms"), knows every field and keeps what it does not mention.
type Settings struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	// Lock is shown in the status; the lock itself is injected.
	Lock    string       `json:"lock"`
	Workers []WorkerAddr `json:"workers"`

	// MatchTimeout bounds a match request.
	MatchTimeout time.Duration `json:"match_timeout,format:units"`
	// AcquireTimeout bounds the wait for the lock.
	AcquireTimeout time.Duration `json:"acquire_timeout,format:units"`
	// ReleaseTimeout bounds a release.
	ReleaseTimeout time.Duration `json:"release_timeout,format:units"`
	// Hold is how long the lock is held at least before a room is ordered; 0 is no
	// longer than it takes.
	Hold time.Duration `json:"hold,format:units"`
	// GiveUpWait lets a waiter for the lock leave as soon as it has got a seat in a
	// room that turned up meanwhile.
	GiveUpWait bool `json:"give_up_wait"`

	// LookTimeout bounds the question to a worker, under the lock, what rooms it has.
	LookTimeout time.Duration `json:"look_timeout,format:units"`
	// SuspectLookTimeout is the same for a worker that seems to be out of reach.
	SuspectLookTimeout time.Duration `json:"suspect_look_timeout,format:units"`
	// SeatTimeout bounds the request for a seat in one room.
	SeatTimeout time.Duration `json:"seat_timeout,format:units"`
	// OrderTimeout bounds the order of a room.
	OrderTimeout time.Duration `json:"order_timeout,format:units"`

	// FeedSilence is after how long without a line from its feed a worker is suspect.
	FeedSilence time.Duration `json:"feed_silence,format:units"`
	// FeedReset is after how long without a line a feed is dialled anew.
	FeedReset time.Duration `json:"feed_reset,format:units"`
	// ReadyTimeout is how long readiness waits for feeds that do not come.
	ReadyTimeout time.Duration `json:"ready_timeout,format:units"`

	// MatchesMax bounds the match requests under way.
	MatchesMax int `json:"matches_max"`
	// InFlightMax bounds the seat requests under way to one worker, and with them
	// the connections that pile up on a link that holds bytes back.
	InFlightMax int `json:"in_flight_max"`
}

// DefaultSettings has everything but names and addresses.
func DefaultSettings() Settings {
	return Settings{
		MatchTimeout:       2 * time.Second,
		AcquireTimeout:     time.Second,
		ReleaseTimeout:     time.Second,
		GiveUpWait:         true,
		LookTimeout:        500 * time.Millisecond,
		SuspectLookTimeout: 200 * time.Millisecond,
		SeatTimeout:        500 * time.Millisecond,
		OrderTimeout:       500 * time.Millisecond,
		FeedSilence:        400 * time.Millisecond,
		FeedReset:          time.Second,
		ReadyTimeout:       2 * time.Second,
		MatchesMax:         20_000,
		InFlightMax:        256,
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
		return fmt.Errorf("decode master settings: %w", err)
	}
	return nil
}

func (s Settings) validate() error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("master settings: "+format, args...))
	}
	if err := web.CheckName("name", s.Name); err != nil {
		fail("%w", err)
	}
	if len(s.Workers) == 0 {
		fail("workers is empty: want at least one")
	}
	seen := map[string]bool{}
	for i, w := range s.Workers {
		if err := web.CheckName("name", w.Name); err != nil {
			fail("workers[%d]: %w", i, err)
		}
		if seen[w.Name] {
			fail("workers[%d]: name %q is there twice", i, w.Name)
		}
		seen[w.Name] = true
		if _, _, err := net.SplitHostPort(w.Addr); err != nil {
			fail("workers[%d]: addr %q: want host:port: %w", i, w.Addr, err)
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"match_timeout", s.MatchTimeout},
		{"acquire_timeout", s.AcquireTimeout},
		{"release_timeout", s.ReleaseTimeout},
		{"look_timeout", s.LookTimeout},
		{"suspect_look_timeout", s.SuspectLookTimeout},
		{"seat_timeout", s.SeatTimeout},
		{"order_timeout", s.OrderTimeout},
		{"feed_silence", s.FeedSilence},
		{"feed_reset", s.FeedReset},
		{"ready_timeout", s.ReadyTimeout},
	} {
		if d.value <= 0 {
			fail("%s is %v: want a positive duration such as 250ms", d.field, d.value)
		}
	}
	if s.Hold < 0 {
		fail("hold is %v: want 0s or more, such as 50ms", s.Hold)
	}
	if s.MatchesMax < 1 {
		fail("matches_max is %d: want 1 or more", s.MatchesMax)
	}
	if s.InFlightMax < 1 {
		fail("in_flight_max is %d: want 1 or more", s.InFlightMax)
	}
	return errors.Join(errs...)
}
