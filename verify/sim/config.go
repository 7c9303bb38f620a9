package sim

import (
	"cmp"
	"io"
	"slices"
	"time"

	"locklab/internal/seed"
)

// Config says what is simulated. Zero fields with a default take it.
type Config struct {
	Peers int // 1 to peercore.MaxPeers; default 3
	Zones int // rank r is in zone r modulo Zones; default: as many as peers, up to 3
	Seed  seed.Seed
	// Duration is how long the clients work, in virtual time; default 10 s. Faults end with it at the latest.
	Duration time.Duration
	Load     Load
	Faults   []Fault
	// Jitter is how much longer a message may take, as a share of the latency; uniform, default 0.2. One
	// message in 128 takes ten times as much of it.
	Jitter float64
	Trace  io.Writer // gets every event as a line, unless it is nil
}

// Load is what the clients of every peer do. Times are drawn from exponential distributions with the
// given means.
type Load struct {
	Clients int           // in every peer; default 1
	Think   time.Duration // between a release and the next request of a client
	Hold    time.Duration
	GiveUp  time.Duration // patience of a client that waits; 0 is endless
}

// Latencies one way, as in the lab's own topologies.
const (
	insideZone   = 100 * time.Microsecond
	betweenZones = 500 * time.Microsecond
)

// patience is how long a peer may wait after the load has ended, while no client holds or is served.
const patience = time.Minute

func (c Config) withDefaults() Config {
	c.Peers = cmp.Or(c.Peers, 3)
	c.Zones = cmp.Or(c.Zones, min(c.Peers, 3))
	c.Duration = cmp.Or(c.Duration, 10*time.Second)
	c.Load.Clients = cmp.Or(c.Load.Clients, 1)
	c.Jitter = cmp.Or(c.Jitter, 0.2)
	c.Faults = slices.Clone(c.Faults)
	for i := range c.Faults {
		c.Faults[i].Until = min(c.Faults[i].Until, c.Duration)
	}
	return c
}

// delay is how long a message takes at the least.
func (c *Config) delay(from, to int) int64 {
	if from%c.Zones == to%c.Zones {
		return int64(insideZone)
	}
	return int64(betweenZones)
}
