package peerlock

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// Config is what a [Locker] is made of. O is the options of the algorithm.
type Config[O any] struct {
	mesh.Config // but for Protocol and Handler; Cluster, Peers and Options must be the same at all peers
	Options     O

	// Founding says that this peer has never run before: it is part of a new cluster and
	// makes its StateFile. It must not be said of a peer that is started again.
	Founding bool

	// StateFile is where algorithms that keep something on disk keep it; others do not use
	// it. Each peer has its own, for one process at a time (on Unix a second one is refused),
	// and never an older copy of it. A peer that finds none, and is not founding, is refused.
	StateFile string

	sync func(*os.File) error // of the state file, in tests; nil: its method
}

// owner says whose the state file is. Votes were given under these options and to these
// peers: no other peer can make use of them.
func (c Config[O]) owner() string {
	var owner strings.Builder
	fmt.Fprintf(&owner, "%q, rank %d, in cluster %q of %s with", c.Self.ID, c.Self.Rank, c.Cluster, c.Protocol)
	for _, p := range slices.SortedFunc(slices.Values(c.Peers), func(a, b mesh.Peer) int { return a.Rank - b.Rank }) {
		fmt.Fprintf(&owner, " %d %q", p.Rank, p.ID)
	}
	return owner.String()
}

// Protocol is what the shell needs to know of an algorithm.
type Protocol[S, M any] struct {
	peercore.Algorithm[S, M]
	// NeedsAll says that nothing is granted while a peer is missing, NeedsMost that nothing
	// is without a majority. They only add to what errors explain.
	NeedsAll, NeedsMost bool
	// Pause is the mean time of the first pause; it doubles with every attempt, up
	// to 64 times. Only needed by algorithms that pause.
	Pause time.Duration
	// Cohort lets one acquisition serve several local waiters.
	Cohort Cohort
	// Lease is how long the timers of an algorithm with leases run. Zero for others.
	Lease Lease
}

// Cohort lets one acquisition among the peers serve several local waiters in turn.
// The zero value lets each waiter make its own.
type Cohort struct {
	Size int           // at most so many
	Time time.Duration // the last of them begins within this time of the first
}

// Lease is how long a holder may believe what its peers granted it.
type Lease struct {
	// TTL is the lease, counted at the holder from before it asked.
	TTL time.Duration
	// Renew is how long after it asked a holder asks again; zero never does.
	Renew time.Duration
	// Margin is how much longer a peer keeps its vote, counted from when it was asked.
	// It makes up for clocks that do not run alike.
	Margin time.Duration
}

// Takes is how long a timer runs, from [CountsFrom] on. One that takes nothing never goes off.
func (l Lease) Takes(t peercore.Timer) time.Duration {
	switch t {
	case peercore.Lease:
		return l.TTL
	case peercore.Renew:
		return l.Renew
	default: // Vote
		return l.TTL + l.Margin
	}
}

// CountsFrom is from when on a timer counts that starts now: Lease from when its holder asked,
// at the last Start of Renew, which is noted.
func CountsFrom[T any](t peercore.Timer, asked *T, now T) T {
	if t == peercore.Renew {
		*asked = now
	}
	if t == peercore.Lease {
		return *asked
	}
	return now
}
