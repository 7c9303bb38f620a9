package sim

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"locklab/internal/seed"
	"locklab/locks/peerlock/peercore"
)

// ErrInvalid is wrapped by errors about a [Config] that cannot be used.
var ErrInvalid = errors.New("sim: invalid")

// MaxZones is how many zones there are figures for, see [Geography].
const MaxZones = 30

// Config says what is simulated. Zero fields with a default take it.
type Config struct {
	Peers int // 1 to peercore.MaxPeers; default 3
	// Zones over which the peers are dealt in turn: rank r is in zone r modulo Zones.
	// Default: as many as peers, up to 3.
	Zones int
	Seed  seed.Seed
	// Duration is how long the clients work, in virtual time; default 10 s. Faults end
	// with it at the latest. Then nobody asks any more, and who still waits when nobody
	// holds and nobody was served for Patience, default 60 s, is stuck.
	Duration, Patience time.Duration
	Load               Load
	Faults             []Fault
	Network            Network
	// Formed starts with all connections made. Otherwise the peers find each other in
	// the first moments, as they do in earnest.
	Formed bool
	// MaxEvents ends a run that would never end otherwise; default 200 million.
	MaxEvents uint64
	// StopAtFirst ends the run at the first violation.
	StopAtFirst bool
	Trace       io.Writer // gets every event as a line, unless it is nil
}

// Load is what the clients of every peer do. Times are drawn from exponential
// distributions with the given means.
type Load struct {
	Clients int           // in every peer; default 1
	Think   time.Duration // between a release and the next request of a client
	Hold    time.Duration
	GiveUp  time.Duration // patience of a client that waits; 0 is endless
	// Early lets clients ask before their peer has once met all others. By default they
	// wait for that, as users of the library should (Locker.Ready).
	Early bool
	// Ops bounds, by rank, how many requests the clients of a peer make. A peer that is
	// missing here, or has a negative number, has no bound.
	Ops []int
}

// Network says how long a message is on its way. Messages of one connection arrive
// in the order in which they were sent, so a late one delays those behind it.
type Network struct {
	// Delay is one way, by zone of the sender and zone of the receiver. Nil takes
	// [Geography]. Zones beyond its size share its last row.
	Delay [][]time.Duration
	// Jitter is how much longer a message may take, as a share of the delay; uniform.
	// Default 0.2. One message in 128 takes ten times as much of it.
	Jitter float64
}

// The times of connections are those of package mesh, but for the heartbeat, which is 100 ms
// there: another one would change the draws of every seed.
const (
	heartbeat  = 50 * time.Millisecond
	silence    = 400 * time.Millisecond // after which a connection is given up
	backoffMin = 10 * time.Millisecond  // between attempts to connect
	backoffMax = 250 * time.Millisecond
)

func (c Config) withDefaults() Config {
	c.Peers = cmp.Or(c.Peers, 3)
	c.Zones = cmp.Or(c.Zones, min(c.Peers, 3))
	c.Duration = cmp.Or(c.Duration, 10*time.Second)
	c.Patience = cmp.Or(c.Patience, time.Minute)
	c.Load.Clients = cmp.Or(c.Load.Clients, 1)
	c.Network.Jitter = cmp.Or(c.Network.Jitter, 0.2)
	c.MaxEvents = cmp.Or(c.MaxEvents, 200_000_000)
	if c.Network.Delay == nil && c.Zones > 0 && c.Zones <= MaxZones {
		c.Network.Delay = Geography(c.Zones)
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Peers < 1 || c.Peers > peercore.MaxPeers:
		return fmt.Errorf("%d peers: want 1 to %d: %w", c.Peers, peercore.MaxPeers, ErrInvalid)
	case c.Zones < 1 || c.Zones > MaxZones:
		return fmt.Errorf("%d zones: want 1 to %d: %w", c.Zones, MaxZones, ErrInvalid)
	case len(c.Network.Delay) < c.Zones:
		return fmt.Errorf("delays between %d zones: want %d: %w", len(c.Network.Delay), c.Zones, ErrInvalid)
	case c.Duration < 0 || c.Patience < 0 || c.Load.Think < 0 || c.Load.Hold < 0 || c.Load.GiveUp < 0:
		return fmt.Errorf("a time is negative: %w", ErrInvalid)
	case c.Load.Clients < 0 || c.Network.Jitter < 0 || c.Network.Jitter > 1000:
		return fmt.Errorf("a number of the load or the network is out of range: %w", ErrInvalid)
	}
	for i, row := range c.Network.Delay[:c.Zones] {
		if len(row) < c.Zones {
			return fmt.Errorf("delays from zone %d to %d zones: want %d: %w", i, len(row), c.Zones, ErrInvalid)
		}
	}
	for i, f := range c.Faults {
		if err := f.validate(c.Peers); err != nil {
			return fmt.Errorf("fault %d (%v): %w", i+1, f, err)
		}
	}
	return nil
}
