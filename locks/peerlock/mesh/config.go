package mesh

import (
	"cmp"
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

// Config configures a [Mesh].
type Config struct {
	Self  Peer   // its Rank breaks ties; Addr is not used
	Peers []Peer // all others

	// Cluster and Protocol must be the same at all peers, or they refuse each
	// other. Protocol names the meaning of the payloads, options included.
	Cluster  string
	Protocol string

	// Listener accepts connections from peers of lower ranks. The Mesh owns it.
	Listener net.Listener
	Handler  Handler

	Clock clock.Clock // nil: the system's
	Seed  seed.Seed
	Log   *slog.Logger // nil discards
}

// The times of connections. Package sim uses the exported ones.
const (
	tick       = 50 * time.Millisecond // between two checks of all connections
	beats      = 2                     // ticks between two heartbeats, each of one byte
	SilenceMin = 400 * time.Millisecond
	silenceMax = 3 * time.Second // see patience
	handshake  = time.Second     // for dialing, and again for hello
	// Pauses between attempts to dial double from the first to the second, with jitter.
	BackoffMin = 10 * time.Millisecond
	BackoffMax = 250 * time.Millisecond
)

// patience is the silence after which a connection is given up. It grows with the lateness of this
// process's own ticks, because peers probably run on the same machine or on one just as busy.
func patience(late time.Duration) time.Duration {
	const latenesses = 6
	return min(SilenceMin+latenesses*late, silenceMax)
}

// complete fills in defaults and checks the ranks.
func (c *Config) complete() error {
	c.Clock, c.Log = cmp.Or(c.Clock, clock.System()), cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	for _, p := range append([]Peer{c.Self}, c.Peers...) {
		if p.Rank < 0 || p.Rank > MaxRank {
			return fmt.Errorf("mesh: peer %q: rank %d should be from 0 to %d: %w", p.ID, p.Rank, MaxRank, locks.ErrInvalid)
		}
	}
	return nil
}
