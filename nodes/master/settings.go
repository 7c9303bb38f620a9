package master

import (
	"errors"
	"fmt"
	"net"
	"time"

	"locklab/internal/strictjson"
	"locklab/nodes/worker"
)

// WorkerAddr says where a worker is to be reached from here: the address of the
// link to it.
type WorkerAddr struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	Addr string `json:"addr"` // host:port
}

// Settings says how a master behaves. What has no JSON name is set by tests only.
type Settings struct {
	Name string `json:"name"`
	Zone string `json:"zone"`
	// Lock is shown in the status; the lock itself is injected.
	Lock    string       `json:"lock"`
	Workers []WorkerAddr `json:"workers"`
	// WorkerToken is what the workers want to see.
	WorkerToken string `json:"worker_token,omitzero"`
	// OTLP is host:port of the collector that traces go to; "" is none.
	OTLP string `json:"otlp,omitzero"`
	// Hold is how long the lock is held at least before a room is ordered; 0 is no
	// longer than it takes.
	Hold time.Duration `json:"hold,format:units"`
	// Patience is how long players wait, 0 for the usual 2.5 s: a match request is given up
	// before they leave.
	Patience time.Duration `json:"patience,omitzero,format:units"`
	// Second is how long that is which is a second where round trips are short; 0 is a second.
	// What a worker must answer within follows it.
	Second time.Duration `json:"second,omitzero,format:units"`

	// MatchTimeout bounds a match request, but for Hold: that of another one, and its own.
	MatchTimeout time.Duration `json:"-"`
	// AcquireTimeout bounds the wait for the lock, but for the Hold of another one.
	AcquireTimeout time.Duration `json:"-"`
	// ReleaseTimeout bounds a release.
	ReleaseTimeout time.Duration `json:"-"`
	// CanaryTimeout bounds the canary's wait for its own resource.
	CanaryTimeout time.Duration `json:"-"`

	// LookTimeout bounds the question to a worker, under the lock, what rooms it has.
	LookTimeout time.Duration `json:"-"`
	// SuspectLookTimeout is the same for a worker that seems to be out of reach.
	SuspectLookTimeout time.Duration `json:"-"`
	// SeatTimeout bounds the request for a seat in one room.
	SeatTimeout time.Duration `json:"-"`
	// OrderTimeout bounds the order of a room.
	OrderTimeout time.Duration `json:"-"`

	// FeedSilence is after how long without a line from its feed a worker is suspect.
	FeedSilence time.Duration `json:"-"`
	// FeedReset is after how long without a line a feed is dialled anew.
	FeedReset time.Duration `json:"-"`
	// ReadyTimeout is how long readiness waits for feeds that do not come.
	ReadyTimeout time.Duration `json:"-"`
}

// DefaultSettings has everything but names and addresses.
func DefaultSettings() Settings {
	return Settings{
		MatchTimeout:       2 * time.Second,
		AcquireTimeout:     time.Second,
		ReleaseTimeout:     time.Second,
		CanaryTimeout:      time.Second,
		LookTimeout:        500 * time.Millisecond,
		SuspectLookTimeout: 200 * time.Millisecond,
		SeatTimeout:        500 * time.Millisecond,
		OrderTimeout:       500 * time.Millisecond,
		FeedSilence:        400 * time.Millisecond,
		FeedReset:          time.Second,
		ReadyTimeout:       2 * time.Second,
	}
}

// ParseSettings reads JSON on top of the defaults and checks the result.
func ParseSettings(text []byte) (Settings, error) {
	s := DefaultSettings()
	if err := strictjson.Decode(text, &s); err != nil {
		return Settings{}, fmt.Errorf("read master settings: %w", err)
	}
	s.follow()
	return s, s.validate()
}

// follow has the limits follow the players' patience and the round trips.
func (s *Settings) follow() {
	scale := func(by, usual time.Duration, limits ...*time.Duration) {
		for _, limit := range limits {
			if by > 0 {
				*limit = time.Duration(float64(*limit) * float64(by) / float64(usual))
			}
		}
	}
	scale(s.Patience, usualPatience, &s.MatchTimeout, &s.AcquireTimeout)
	scale(s.Second, time.Second, &s.ReleaseTimeout, &s.CanaryTimeout, &s.LookTimeout, &s.SuspectLookTimeout, &s.SeatTimeout, &s.OrderTimeout,
		&s.FeedSilence, &s.FeedReset, &s.ReadyTimeout)
}

// usualPatience is that of players for whom the limits are made.
const usualPatience = 2500 * time.Millisecond

func (s Settings) validate() error {
	var errs []error
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("master settings: "+format, args...))
	}
	if err := worker.CheckName("name", s.Name); err != nil {
		fail("%w", err)
	}
	if len(s.Workers) == 0 {
		fail("workers is empty: want at least one")
	}
	seen := map[string]bool{}
	for i, w := range s.Workers {
		if err := worker.CheckName("name", w.Name); err != nil {
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
	if s.Patience < 0 || s.Second < 0 {
		fail("patience is %v and second %v: want 0s or more, such as 2.5s", s.Patience, s.Second)
	}
	if s.Hold < 0 {
		fail("hold is %v: want 0s or more, such as 50ms", s.Hold)
	}
	return errors.Join(errs...)
}
