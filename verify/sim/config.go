package sim

import (
	"cmp"
	"io"
	"slices"
	"time"

	"locklab/internal/seed"
)

// MaxZones is how many zones there are figures for, see [Geography].
const MaxZones = 30

// Config says what is simulated. Zero fields with a default take it.
type Config struct {
	Peers int // 1 to peercore.MaxPeers; default 3
	Zones int // rank r is in zone r modulo Zones; default: as many as peers, up to 3
	Seed  seed.Seed
	// Duration is how long the clients work, in virtual time; default 10 s. Faults end with it at the
	// latest. A peer that then waits for Patience, default 60 s, while no client holds or is served is stuck.
	Duration, Patience time.Duration
	Load               Load
	Faults             []Fault
	Network            Network
	Formed             bool      // start with all connections made; otherwise the peers connect first
	MaxEvents          uint64    // end of a run that would never end otherwise; default 200 million
	Trace              io.Writer // gets every event as a line, unless it is nil

	stopAtFirst bool // violation; for Shrink
}

// Load is what the clients of every peer do once it has met all others. Times are drawn from
// exponential distributions with the given means.
type Load struct {
	Clients int           // in every peer; default 1
	Think   time.Duration // between a release and the next request of a client
	Hold    time.Duration
	GiveUp  time.Duration // patience of a client that waits; 0 is endless
	Ops     []int         // by rank, how many requests its clients make; missing or negative: no bound
}

// Network says how long a message is on its way. Messages of one connection arrive in the order in
// which they were sent, so a late one delays those behind it.
type Network struct {
	Delay [][]time.Duration // one way, by zone of the sender and of the receiver; default [Geography]
	// Jitter is how much longer a message may take, as a share of the delay; uniform, default 0.2. One
	// message in 128 takes ten times as much of it.
	Jitter float64
}

func (c Config) withDefaults() Config {
	c.Peers = cmp.Or(c.Peers, 3)
	c.Zones = cmp.Or(c.Zones, min(c.Peers, 3))
	c.Duration = cmp.Or(c.Duration, 10*time.Second)
	c.Patience = cmp.Or(c.Patience, time.Minute)
	c.Load.Clients = cmp.Or(c.Load.Clients, 1)
	c.Network.Jitter = cmp.Or(c.Network.Jitter, 0.2)
	c.MaxEvents = cmp.Or(c.MaxEvents, 200_000_000)
	c.Faults = slices.Clone(c.Faults)
	for i := range c.Faults {
		c.Faults[i].Until = min(c.Faults[i].Until, c.Duration)
	}
	if c.Network.Delay == nil {
		c.Network.Delay = Geography(c.Zones)
	}
	return c
}

// Round-trip times in milliseconds between ten regions of a public cloud, rounded, of
// the order of what anybody measures between them: Seoul, Tokyo, Singapore, Sydney,
// Mumbai, Oregon, Virginia, Frankfurt, Ireland, São Paulo. Row by row, those above
// the diagonal.
func regionRTTs() [][]int {
	return [][]int{
		{35, 75, 148, 133, 128, 180, 240, 232, 295},
		{70, 110, 130, 100, 150, 228, 204, 258},
		{93, 62, 165, 218, 160, 178, 325},
		{152, 140, 198, 250, 258, 312},
		{220, 190, 125, 125, 300},
		{65, 140, 120, 175},
		{92, 68, 113},
		{27, 205},
		{178},
	}
}

const (
	zonesPerRegion = 3
	// As in the lab's own topologies.
	rttInside  = 200 * time.Microsecond // between two hosts of a zone
	rttBetween = time.Millisecond       // between two zones of a region
)

// Geography is the delays one way between so many zones, up to MaxZones: three of a
// region, then three of the next one. So 3 zones are one region, 10 are four regions
// around the western Pacific, 30 are ten all over the world.
func Geography(zones int) [][]time.Duration {
	rtts := regionRTTs()
	delay := make([][]time.Duration, zones)
	for a := range zones {
		delay[a] = make([]time.Duration, zones)
		for b := range zones {
			from, to := min(a, b)/zonesPerRegion, max(a, b)/zonesPerRegion
			rtt := rttBetween
			switch {
			case a == b:
				rtt = rttInside
			case from != to:
				rtt = time.Duration(rtts[from][to-from-1]) * time.Millisecond
			}
			delay[a][b] = rtt / 2
		}
	}
	return delay
}
