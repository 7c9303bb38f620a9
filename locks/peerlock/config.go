package peerlock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/peerlock/journal"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// Config is what a [Locker] is made of. O is the options of the algorithm. Zero
// fields with a default take it.
type Config[O any] struct {
	ID   string // unique in the cluster
	Rank int    // unique in the cluster, 0 to mesh.MaxRank; breaks ties
	// Cluster is a name that all peers share; peers of another cluster are refused.
	Cluster string
	Peers   []mesh.Peer // all others; Addr is needed for those with a greater Rank
	// Listener accepts connections of peers with a lower Rank. The Locker owns it.
	Listener net.Listener
	Options  O // all peers of a cluster must have the same

	// Founding says that this peer has never run before: it is part of a new cluster and
	// has no memory that it could have lost, so an algorithm with leases takes part at
	// once. It must not be said of a peer that is started again.
	Founding bool

	// StateFile is where algorithms that keep something on disk keep it; others do not use
	// it. Each peer has its own, for one process at a time (on Unix a second one is refused),
	// and never an older copy of it. A founding peer makes it; later the file must be there.
	StateFile string
	// Lost says that the peer has run before and that its StateFile, if it is missing, is gone
	// for good: the peer recovers as one that has lost its memory, and then makes a new one.
	Lost bool

	sync func(*os.File) error // of the state file, in tests; nil: its method

	Timing mesh.Timing
	Limits mesh.Limits
	// Resources bounds how many resources callers of this peer may want at once; default
	// 1,048,576. Each sixteenth of all names, by a hash, has a sixteenth of it. Who asks
	// for one more is refused with locks.ErrUnavailable. A peer keeps those as well that
	// others want: as many as the bounds of all peers allow together.
	Resources int

	Clock clock.Clock
	Seed  seed.Seed
	Log   *slog.Logger // nil discards
}

func (c Config[O]) withDefaults() Config[O] {
	if c.Resources == 0 {
		c.Resources = 1 << 20
	}
	if c.Clock == nil {
		c.Clock = clock.System()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// journal says whose the state file is. Votes were given under these options and to
// these peers: nobody else can make use of them.
func (c Config[O]) journal(spec string) journal.Config {
	var owner strings.Builder
	fmt.Fprintf(&owner, "%q, rank %d, in cluster %q of %s with", c.ID, c.Rank, c.Cluster, spec)
	for _, p := range slices.SortedFunc(slices.Values(c.Peers), func(a, b mesh.Peer) int { return a.Rank - b.Rank }) {
		fmt.Fprintf(&owner, " %d %q", p.Rank, p.ID)
	}
	return journal.Config{Path: c.StateFile, Owner: owner.String(), Sync: c.sync}
}

// ranks is the set of all other peers.
func (c Config[O]) ranks() (peercore.Set, error) {
	if c.Rank < 0 || c.Rank > mesh.MaxRank {
		return peercore.Set{}, fmt.Errorf("peer %q: Rank %d should be from 0 to %d: %w", c.ID, c.Rank, mesh.MaxRank, locks.ErrInvalid)
	}
	var peers peercore.Set
	for _, p := range c.Peers {
		if p.Rank < 0 || p.Rank > mesh.MaxRank {
			return peercore.Set{}, fmt.Errorf("peer %q: rank %d should be from 0 to %d: %w", p.ID, p.Rank, mesh.MaxRank, locks.ErrInvalid)
		}
		peers = peers.With(p.Rank)
	}
	return peers, nil
}

// closeListener is for a New that fails before the mesh owns the listener.
func (c Config[O]) closeListener(err error) error {
	if c.Listener != nil {
		return errors.Join(err, c.Listener.Close())
	}
	return err
}

func (c Config[O]) mesh(protocol string, handler mesh.Handler) mesh.Config {
	return mesh.Config{
		Self: mesh.Peer{ID: c.ID, Rank: c.Rank}, Peers: c.Peers,
		Cluster: c.Cluster, Protocol: protocol,
		Listener: c.Listener, Handler: handler, Timing: c.Timing, Limits: c.Limits,
		Clock: c.Clock, Seed: c.Seed.Child("mesh"), Log: c.Log,
	}
}

// Protocol is what the shell needs to know of an algorithm.
type Protocol[S, M any] struct {
	peercore.Algorithm[S, M]
	// NeedsAll says that nothing is granted while a peer is missing. It only adds to
	// what errors explain.
	NeedsAll bool
	// NeedsMost says that nothing is granted without a majority, likewise.
	NeedsMost bool
	// Pause is the mean time of the first pause; it doubles with every attempt, up
	// to 64 times. Only needed by algorithms that pause.
	Pause time.Duration
	// Cohort lets one acquisition serve several local waiters.
	Cohort Cohort
	// Lease is how long the timers of an algorithm with leases run. Zero for others.
	Lease Lease
}

// ErrMalformed says that a peer sent something that is no message.
var ErrMalformed = errors.New("peerlock: malformed message")

// AppendNumbered encodes a message that is a kind and a number: the kind in one
// byte, the number as an unsigned varint.
func AppendNumbered(b []byte, kind uint8, number uint64) []byte {
	return binary.AppendUvarint(append(b, kind), number)
}

// CutNumbered reads what AppendNumbered wrote. Kinds go from 1 to last.
func CutNumbered(b []byte, last uint8) (kind uint8, number uint64, rest []byte, err error) {
	if len(b) == 0 || b[0] == 0 || b[0] > last {
		return 0, 0, nil, fmt.Errorf("kind of %.8q should be from 1 to %d: %w", b, last, ErrMalformed)
	}
	number, n := binary.Uvarint(b[1:])
	if n <= 0 {
		return 0, 0, nil, fmt.Errorf("number: %w", ErrMalformed)
	}
	return b[0], number, b[1+n:], nil
}
