package raftlock

import (
	"fmt"
	"log/slog"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
)

// Options are the settings that a lock spec can give this lock.
type Options struct {
	// Lease is how long a session lives after its client's last renewal.
	Lease time.Duration
	// Sync makes the servers wait for their disks; they are started with it.
	Sync bool
}

// DefaultOptions returns the options of a spec that sets none.
func DefaultOptions() Options { return Options{Lease: 3 * time.Second, Sync: true} }

// ParseOptions reads the options of a spec.
func ParseOptions(spec locks.Spec) (Options, error) {
	const about = "how long a session outlives its client's last renewal, and so for how long a dead holder " +
		"blocks the others"
	r := spec.Reader()
	r.Variant()
	o := DefaultOptions()
	o.Lease = r.Duration("lease", about, o.Lease)
	o.Sync = r.Bool("sync", "whether the servers wait until what they log is on their disks", o.Sync)
	if err := r.Err(); err != nil {
		return Options{}, err
	}
	return o, o.validate()
}

const minLease, maxLease = 50 * time.Millisecond, time.Hour

func (o Options) validate() error {
	if o.Lease < minLease || o.Lease > maxLease {
		return fmt.Errorf("raft: lease %s: want %s to %s: %w", o.Lease, minLease, maxLease, locks.ErrInvalid)
	}
	return nil
}

// Server is one server of the service.
type Server struct {
	// Name is the server's own name, which the other servers' hints use.
	Name string
	// Addr is the address that this client dials: on a lab host, the link's proxy.
	Addr string
}

// Config configures a client.
type Config struct {
	Servers []Server // all of the service
	Client  string   // names this client in the service's logs and histories
	Options Options
	Clock   clock.Clock // nil is the system's
	Seed    seed.Seed   // draws the first server to dial, and the pauses between attempts
	Log     *slog.Logger
}

func (c Config) validate() error {
	if len(c.Servers) == 0 {
		return fmt.Errorf("raft: no servers: want at least one: %w", locks.ErrInvalid)
	}
	return c.Options.validate()
}
