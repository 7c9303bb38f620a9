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

// Config configures a [Locker]. O is the options of the algorithm.
type Config[O any] struct {
	mesh.Config // Protocol and Handler are set by New; Cluster, Peers and Options must be the same at all peers
	Options     O

	// Founding says that this peer has never run before: it is part of a new cluster and
	// makes its StateFile. It must be false for a peer that is started again.
	Founding bool

	// StateFile is the file of an algorithm that keeps votes on disk. Each peer needs its own,
	// used by one process at a time (on Unix a second one is refused), and never an older copy.
	// If it is missing and the peer is not founding, New fails.
	StateFile string

	sync func(*os.File) error // syncs the state file, in tests; nil is (*os.File).Sync
}

// owner identifies the state file: its votes are valid only for this peer, with these options and peers.
func (c Config[O]) owner() string {
	var owner strings.Builder
	fmt.Fprintf(&owner, "%q, rank %d, in cluster %q of %s with", c.Self.ID, c.Self.Rank, c.Cluster, c.Protocol)
	for _, p := range slices.SortedFunc(slices.Values(c.Peers), func(a, b mesh.Peer) int { return a.Rank - b.Rank }) {
		fmt.Fprintf(&owner, " %d %q", p.Rank, p.ID)
	}
	return owner.String()
}

// Protocol describes an algorithm to the shell.
type Protocol[S, M any] struct {
	peercore.Algorithm[S, M]
	// NeedsAll says that nothing is granted while a peer is missing, NeedsMost that nothing
	// is without a majority. They only improve error texts.
	NeedsAll, NeedsMost bool
	// Pause is the mean of the first pause, for algorithms that pause. It doubles with
	// every attempt, up to a factor of 64.
	Pause time.Duration
	// Cohort lets one acquisition serve several local waiters.
	Cohort Cohort
	// Lease is zero for algorithms without leases.
	Lease Lease
}

// Cohort bounds the local waiters that one acquisition among the peers serves in turn.
// With the zero value each waiter makes its own.
type Cohort struct {
	Size int           // at most this many waiters
	Time time.Duration // the last hold begins within this time of the first
}

// Lease has the durations of the timers of an algorithm with leases.
type Lease struct {
	// TTL is the lease time, counted at the holder from before it asked.
	TTL time.Duration
	// Renew is the time between two requests of a holder; zero means that it never renews.
	Renew time.Duration
	// Margin is how much longer than TTL a peer keeps its vote, counted from when it was asked.
	// It allows for clock drift.
	Margin time.Duration
}

// Takes returns the duration of a timer, counted from [CountsFrom]. A timer of duration 0 never expires.
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

// CountsFrom returns the moment from which a timer that starts now counts: Lease counts from asked,
// the last Start of Renew, which CountsFrom records.
func CountsFrom[T any](t peercore.Timer, asked *T, now T) T {
	if t == peercore.Renew {
		*asked = now
	}
	if t == peercore.Lease {
		return *asked
	}
	return now
}
