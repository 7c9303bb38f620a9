package mesh

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
)

// MaxRank is the highest rank that a peer can have.
const MaxRank = 63

// Peer is a member of the cluster.
type Peer struct {
	ID   string // unique
	Rank int    // unique, 0 to MaxRank; the lower of two dials the other
	Addr string // host:port to dial; unused for oneself and for lower ranks
}

// Config is what a [Mesh] is made of.
type Config struct {
	Self  Peer   // Addr is not used
	Peers []Peer // all others

	// Cluster and Protocol must be the same at all peers, or they refuse each
	// other. Protocol names what the payloads mean, options included.
	Cluster  string
	Protocol string

	// Listener accepts connections from peers of lower ranks. The Mesh owns it.
	Listener net.Listener
	Handler  Handler

	Clock clock.Clock // nil: the system's
	Seed  seed.Seed
	Log   *slog.Logger // nil discards
}

// Pauses between attempts to dial double from the first to the second, with jitter.
const (
	backoffMin = 10 * time.Millisecond
	backoffMax = 250 * time.Millisecond
)

// timing says how fast a mesh notices and repairs.
type timing struct {
	tick  time.Duration // between two looks at all connections
	beats int           // ticks between two heartbeats, each of one byte
	// A connection is given up after a silence of the usual gap between arrivals plus eight
	// times its deviation, but at least silenceMin; more while this process itself gets to
	// run late; never more than silenceMax.
	silenceMin, silenceMax time.Duration
	handshake              time.Duration // for dialing, and again for hello
}

// timingOf is that of a peer with so many others. From nine peers on everything slows down,
// so that each peer sends at most 84 heartbeats in a second.
func timingOf(others int) timing {
	silence := max(400*time.Millisecond, time.Duration(others)*48*time.Millisecond)
	t := timing{
		tick: silence / 8, beats: 2,
		silenceMin: silence, silenceMax: max(3*time.Second, silence), handshake: max(time.Second, 2*silence),
	}
	if silence > 1200*time.Millisecond { // 600 ms are left for a heartbeat that is late
		t.beats = 4
	}
	return t
}

func (t timing) heartbeat() time.Duration { return time.Duration(t.beats) * t.tick }

func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// validate checks what a topology can get wrong.
func (c Config) validate() error {
	for _, p := range append([]Peer{c.Self}, c.Peers...) {
		if p.Rank < 0 || p.Rank > MaxRank {
			return fmt.Errorf("mesh: peer %q: rank %d should be from 0 to %d: %w", p.ID, p.Rank, MaxRank, locks.ErrInvalid)
		}
	}
	return nil
}
