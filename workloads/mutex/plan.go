package mutex

import (
	"errors"
	"fmt"
	"time"

	"locklab/internal/seed"
	"locklab/workloads/loadgen"
)

// Plan is what each master runs.
type Plan struct {
	// ID names the plan: starting it twice is the same as starting it once.
	ID string `json:"id"`
	// Clients is the number of clients on each master.
	Clients int `json:"clients"`
	// Resources is how many resources all clients compete for, together.
	Resources int `json:"resources"`
	// Hold is how long a client holds a resource.
	Hold time.Duration `json:"hold_ns,format:nano"`
	// Rate is the number of acquisitions per second and master that are due, with
	// Poisson arrivals; 0 is the closed loop.
	Rate float64 `json:"rate_per_s"`
	// Timeout is how long a client waits for one acquisition, and for a release.
	Timeout time.Duration `json:"timeout_ns,format:nano"`
	// Second is how long that is which is a second where round trips are short; 0 is a second.
	Second time.Duration `json:"second_ns,omitzero,format:nano"`
	// Unfenced has holders show the store of fenced-write no tokens.
	Unfenced bool          `json:"unfenced,omitzero"`
	Seed     seed.Seed     `json:"seed"`
	Warmup   time.Duration `json:"warmup_ns,format:nano"`
	Duration time.Duration `json:"duration_ns,format:nano"` // measured, after the warm-up
	// Elapsed is how much of warm-up and duration is already over when the master
	// gets the plan: set by the controller when it starts a master again.
	Elapsed time.Duration `json:"elapsed_ns,format:nano"`
}

// DefaultPlan is a moderately contended closed loop, without an ID and a duration.
func DefaultPlan() Plan {
	return Plan{Clients: 8, Resources: 4, Hold: time.Millisecond, Timeout: 2500 * time.Millisecond}
}

// The bounds of a plan. They keep a mistake from taking a host down.
const (
	MaxClients   = 10_000
	MaxResources = 1_000_000
	MaxDuration  = 24 * time.Hour
	maxBody      = 16 << 10
)

// Validate says what is wrong with the plan, and what would be right.
func (p *Plan) Validate() error {
	var errs []error
	want := func(ok bool, field string, value any, right string) {
		if !ok {
			errs = append(errs, fmt.Errorf("mutex: %s %v: want %s", field, value, right))
		}
	}
	want(p.ID != "" && len(p.ID) <= 100, "id", p.ID, "1 to 100 bytes")
	want(p.Clients >= 1 && p.Clients <= MaxClients, "clients", p.Clients, fmt.Sprintf("1 to %d", MaxClients))
	want(p.Resources >= 1 && p.Resources <= MaxResources, "resources", p.Resources, fmt.Sprintf("1 to %d", MaxResources))
	want(p.Hold >= 0 && p.Hold <= MaxDuration, "hold", p.Hold, "0 to "+MaxDuration.String())
	want(p.Rate >= 0 && p.Rate <= loadgen.MaxRate, "rate", p.Rate, fmt.Sprintf("0 (closed loop) to %d a second", loadgen.MaxRate))
	want(p.Timeout > 0 && p.Timeout <= MaxDuration, "timeout", p.Timeout, "more than 0, up to "+MaxDuration.String())
	want(p.Second >= 0 && p.Second <= MaxDuration, "second", p.Second, "0 to "+MaxDuration.String())
	want(p.Warmup >= 0 && p.Warmup <= MaxDuration, "warm-up", p.Warmup, "0 to "+MaxDuration.String())
	want(p.Duration > 0 && p.Duration <= MaxDuration, "duration", p.Duration, "more than 0, up to "+MaxDuration.String())
	want(p.Elapsed >= 0 && p.Elapsed <= p.Warmup+p.Duration, "elapsed", p.Elapsed, "0 to warm-up plus duration")
	return errors.Join(errs...)
}
