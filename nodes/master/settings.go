package master

import (
	"errors"
	"fmt"
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

// Settings says how a master behaves.
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

	Limits `json:"-"`
}

// Limits follow from Patience and Second; only tests set others.
type Limits struct {
	// MatchTimeout bounds a match request and AcquireTimeout its wait for the lock, but for the Hold of
	// another one, and its own. They follow the players' patience, all others a second.
	MatchTimeout, AcquireTimeout  time.Duration
	ReleaseTimeout, CanaryTimeout time.Duration // the second is that of the canary's acquisition
	// LookTimeout bounds the question to a worker, under the lock, what rooms it has, and SuspectLookTimeout
	// that to one that seems to be out of reach.
	LookTimeout, SuspectLookTimeout time.Duration
	SeatTimeout, OrderTimeout       time.Duration // of a seat in one room, and of a room
	// FeedSilence is after how long without a line from its feed a worker is suspect, and FeedReset when the
	// feed is dialled anew.
	FeedSilence, FeedReset time.Duration
	ReadyTimeout           time.Duration // for which readiness waits for feeds that do not come
}

// DefaultSettings has everything but names and addresses.
func DefaultSettings() Settings {
	return Settings{Limits: Limits{
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
	}}
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
	if s.Patience < 0 || s.Second < 0 {
		fail("patience is %v and second %v: want 0s or more, such as 2.5s", s.Patience, s.Second)
	}
	if s.Hold < 0 {
		fail("hold is %v: want 0s or more, such as 50ms", s.Hold)
	}
	return errors.Join(errs...)
}
