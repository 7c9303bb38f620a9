package matchmaking

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"time"

	"locklab/internal/seed"
	"locklab/internal/tracing"
	"locklab/workloads/loadgen"
)

// Master is one matchmaking server.
type Master struct {
	Name string
	URL  string // http://host:port
}

// Options describe the load. Start from [DefaultOptions].
type Options struct {
	Masters []Master
	// Rate is the number of match requests (players) per second, in total. It rises
	// evenly to this during the warm-up.
	Rate float64
	// Groups is how many groups the players belong to.
	Groups int
	// Party is how many players of one group arrive at the same instant; they go
	// to different masters as far as there are that many.
	Party int
	// Players stands before the numbers in their names.
	Players string
	// Timeout is how long a player waits for an answer.
	Timeout  time.Duration
	Seed     seed.Seed
	Warmup   time.Duration
	Duration time.Duration // measured, after the warm-up
	// StartNS is when the schedule begins, on clock.Mono; 0 is when Run is called.
	StartNS int64
	// MaxInFlight bounds the waiting players; 0 is loadgen.DefaultMaxInFlight.
	MaxInFlight int
	// Stop ends the arrivals before the end of Duration when it is closed; nil never does.
	Stop <-chan struct{}
	// Tracer follows some of the matches; nil follows none.
	Tracer *tracing.Tracer
}

// DefaultOptions is the load of the default run, without masters and duration.
func DefaultOptions() Options {
	return Options{
		Rate:    300,
		Groups:  20,
		Party:   3,
		Players: "p",
		Timeout: 2500 * time.Millisecond,
	}
}

func (o *Options) validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("matchmaking: "+format, args...))
	}
	if len(o.Masters) == 0 {
		bad("no masters")
	}
	for _, m := range o.Masters {
		if u, err := url.Parse(m.URL); err != nil || u.Scheme != "http" || u.Host == "" {
			bad("master %s: URL %q: want http://host:port", m.Name, m.URL)
		}
	}
	if !(o.Rate > 0 && o.Rate <= loadgen.MaxRate) || math.IsNaN(o.Rate) {
		bad("rate %v: want more than 0 and at most %d a second", o.Rate, loadgen.MaxRate)
	}
	if o.Groups < 1 {
		bad("%d groups: want at least 1", o.Groups)
	}
	if o.Party < 1 {
		bad("parties of %d: want at least 1", o.Party)
	}
	if o.Timeout <= 0 {
		bad("timeout %v: want more than 0", o.Timeout)
	}
	return errors.Join(errs...)
}

// pacer is the schedule: parties that arrive independently, at a rate that rises during
// the warm-up and that a dial changes from there on.
func (o *Options) pacer(dial *loadgen.Dial) loadgen.Pacer {
	single := loadgen.Poisson(o.Rate/float64(o.Party), o.Seed.Child("arrivals"))
	return loadgen.Parties(dial.Pace(loadgen.Ramp(single, o.Warmup)), o.Party)
}
