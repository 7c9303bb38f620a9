package mutex

import (
	"context"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/workloads/history"
)

// Load is what each master runs.
type Load struct {
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
	// Second is how long a limit of one second is with the topology's round trips; 0 is one second.
	Second time.Duration `json:"second_ns,omitzero,format:nano"`
	// Writes has holders write to the store of package fencedwrite, without their tokens if Unfenced is set.
	Writes   bool          `json:"writes,omitzero"`
	Unfenced bool          `json:"unfenced,omitzero"`
	Seed     seed.Seed     `json:"seed"`
	Warmup   time.Duration `json:"warmup_ns,format:nano"`
	Duration time.Duration `json:"duration_ns,format:nano"` // measured, after the warm-up
	// Elapsed is how much of warm-up and duration is already over when the master
	// gets the load: set by the controller when it starts a master again.
	Elapsed time.Duration `json:"elapsed_ns,format:nano"`
}

// The bounds of a load keep a mistake from taking a host down.
const (
	MaxClients   = 10_000
	MaxResources = 1_000_000
)

// The values of Status.State.
const (
	StateIdle    = "idle"    // no load was started in this life of the process
	StateRunning = "running" // the load runs, or is stopping
	StateDone    = "done"    // the load is over and everything was released
)

// Status is how a master's load is going.
type Status struct {
	State string `json:"state"`
}

// Path is where a master serves the workload.
const Path = "/v1/workload/"

// Config is the workload's side in a master.
type Config struct {
	Node     string // the master's name in the history
	Token    string // what requests must bear, if anything
	Locker   locks.Locker
	Recorder history.Recorder
	// Granted, if set, is called after a grant, before the holder does the first thing that others can see. Use must
	// call it itself.
	Granted func(resource string)
	// Use is what a client does while it holds, if the load wants writes. It may go on after the lease is lost, which
	// is then on record.
	Use func(context.Context, *Held)
}

// Held is a hold that Use works with.
type Held struct {
	locks.Lease
	Load         *Load
	ID, Resource string
	Fence        locks.Token // 0 if the lock has none
}
