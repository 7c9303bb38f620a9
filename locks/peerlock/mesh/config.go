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

// maxName bounds ids, cluster and protocol names, in bytes.
const maxName = 255

// Peer is a member of the cluster.
type Peer struct {
	ID   string // unique, up to 255 bytes
	Rank int    // unique, 0 to MaxRank; the lower of two dials the other
	Addr string // host:port to dial; unused for oneself and for lower ranks
}

// Config is what a [Mesh] is made of. Zero fields with a default take it.
type Config struct {
	Self  Peer   // Addr is not used
	Peers []Peer // all others

	// Cluster and Protocol must be the same at all peers, or they refuse each
	// other. Protocol names what the payloads mean, options included.
	Cluster  string
	Protocol string

	// Incarnation tells this process from an earlier one of the same peer; zero
	// takes the clock's nanoseconds.
	Incarnation uint64

	// Listener accepts connections from peers of lower ranks. The Mesh owns it.
	Listener net.Listener
	Handler  Handler

	Timing Timing
	Limits Limits

	Clock clock.Clock
	Seed  seed.Seed
	Log   *slog.Logger // nil discards
}

// Timing says how fast the mesh notices and repairs.
type Timing struct {
	// Heartbeat is how long a connection carries nothing at most: a heartbeat is sent
	// only where nothing else was. Default a quarter of SilenceMin; in large meshes up to
	// a half, as long as 600 ms are left for a heartbeat that is late.
	Heartbeat time.Duration
	// A connection is given up after a silence of the usual gap between arrivals
	// plus eight times its deviation, but at least SilenceMin; more while this process
	// itself gets to run late; never more than SilenceMax. Defaults 400 ms, from nine
	// peers on 48 ms for each, so that the heartbeats of a large mesh do not fill the
	// machines; and 3 s.
	SilenceMin, SilenceMax time.Duration
	Handshake              time.Duration // for dialing, and again for Hello; default 1 s, or twice SilenceMin
	// Pauses between attempts to dial double from the first to the second bound,
	// with jitter; defaults 10 ms and 250 ms.
	BackoffMin, BackoffMax time.Duration
}

// Limits bounds what one peer can make this one hold in memory.
type Limits struct {
	Frame int // bytes of a payload; default 64 KiB
	// Queue is how many bytes may wait to be sent to one peer before callers who have
	// more to say should wait, see [Mesh.Full]; default 8 MiB. What comes all the same,
	// such as answers, is queued too. A peer that reads nothing for SilenceMax while so
	// many wait is disconnected.
	Queue int
}

func orDefault[T comparable](v *T, byDefault T) {
	var zero T
	if *v == zero {
		*v = byDefault
	}
}

// withDefaults fills the zero fields.
func (c Config) withDefaults() Config {
	orDefault(&c.Timing.SilenceMin, max(400*time.Millisecond, time.Duration(len(c.Peers))*48*time.Millisecond, 4*c.Timing.Heartbeat))
	orDefault(&c.Timing.SilenceMax, max(3*time.Second, c.Timing.SilenceMin))
	orDefault(&c.Timing.Heartbeat, min(max(c.Timing.SilenceMin/4, c.Timing.SilenceMin-600*time.Millisecond), c.Timing.SilenceMin/2))
	orDefault(&c.Timing.Handshake, max(time.Second, 2*c.Timing.SilenceMin))
	orDefault(&c.Timing.BackoffMin, 10*time.Millisecond)
	orDefault(&c.Timing.BackoffMax, 250*time.Millisecond)
	orDefault(&c.Limits.Frame, 64<<10)
	orDefault(&c.Limits.Queue, 8<<20)
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Incarnation == 0 {
		c.Incarnation = uint64(c.Clock.Now().UnixNano())
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Listener == nil && len(c.Peers) > 0:
		return fmt.Errorf("mesh: Listener is nil, want a listening socket: %w", locks.ErrInvalid)
	case c.Handler == nil:
		return fmt.Errorf("mesh: Handler is nil: %w", locks.ErrInvalid)
	case c.Timing.Heartbeat <= 0 || c.Timing.SilenceMin < 2*c.Timing.Heartbeat || c.Timing.SilenceMax < c.Timing.SilenceMin:
		return fmt.Errorf("mesh: Timing: want 0 < 2 x Heartbeat (%v) <= SilenceMin (%v) <= SilenceMax (%v): %w",
			c.Timing.Heartbeat, c.Timing.SilenceMin, c.Timing.SilenceMax, locks.ErrInvalid)
	case c.Timing.Handshake <= 0 || c.Timing.BackoffMin <= 0 || c.Timing.BackoffMax < c.Timing.BackoffMin:
		return fmt.Errorf("mesh: Timing: want a positive Handshake and 0 < BackoffMin <= BackoffMax: %w", locks.ErrInvalid)
	case c.Limits.Frame < 1 || c.Limits.Queue < c.Limits.Frame:
		return fmt.Errorf("mesh: Limits: want 1 <= Frame (%d) <= Queue (%d): %w", c.Limits.Frame, c.Limits.Queue, locks.ErrInvalid)
	case len(c.Cluster) > maxName || len(c.Protocol) > maxName:
		return fmt.Errorf("mesh: Cluster and Protocol are at most %d bytes: %w", maxName, locks.ErrInvalid)
	}
	ids, ranks := map[string]bool{}, map[int]bool{}
	for i, p := range append([]Peer{c.Self}, c.Peers...) {
		switch {
		case p.ID == "" || len(p.ID) > maxName:
			return fmt.Errorf("mesh: peer of rank %d: ID %q should have 1 to %d bytes: %w", p.Rank, p.ID, maxName, locks.ErrInvalid)
		case p.Rank < 0 || p.Rank > MaxRank:
			return fmt.Errorf("mesh: peer %q: rank %d should be from 0 to %d: %w", p.ID, p.Rank, MaxRank, locks.ErrInvalid)
		case ids[p.ID]:
			return fmt.Errorf("mesh: peer %q is listed twice: %w", p.ID, locks.ErrInvalid)
		case ranks[p.Rank]:
			return fmt.Errorf("mesh: peer %q: rank %d is taken, ranks must be distinct: %w", p.ID, p.Rank, locks.ErrInvalid)
		case i > 0 && p.Rank > c.Self.Rank && p.Addr == "":
			return fmt.Errorf("mesh: peer %q: Addr is empty, want host:port, since the lower rank dials: %w", p.ID, locks.ErrInvalid)
		}
		ids[p.ID], ranks[p.Rank] = true, true
	}
	return nil
}
