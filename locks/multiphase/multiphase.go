package multiphase

import (
	"context"
	"time"

	"locklab/locks"
	"locklab/locks/multiphase/core"
	"locklab/locks/multiphase/quorum"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/mesh"
)

// Config is what a [Locker] is made of. Its Rank is the peer's priority.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster: the common shell around the core of one variant or the
// other.
type Locker interface {
	locks.Locker
	locks.MessageCounter
	locks.Failer
	// Ready waits until this peer can take part, see [peerlock.Locker.Ready].
	Ready(ctx context.Context) error
	// Peers says how it stands with every other peer.
	Peers() []mesh.Status
}

// New starts a peer, see [peerlock.New].
func New(cfg Config) (Locker, error) {
	o := cfg.Options
	if o.Quorum != nil {
		return peerlock.New(cfg, peerlock.Protocol[quorum.State, quorum.Message]{
			Algorithm: o.QuorumAlgorithm(), NeedsMost: true, Cohort: o.LocalWaiters(), Lease: o.Lease(),
		})
	}
	return peerlock.New(cfg, peerlock.Protocol[core.State, core.Message]{
		Algorithm: o.Algorithm(), Cohort: o.LocalWaiters(),
	})
}

// LocalWaiters is how several of them are served by one acquisition.
func (o Options) LocalWaiters() peerlock.Cohort {
	return peerlock.Cohort{Size: o.Cohort, Time: cohortTime}
}

// Lease is zero without Quorum. It has a margin for clocks of which one runs faster
// than the other by up to a hundredth, as Redlock has.
func (o Options) Lease() peerlock.Lease {
	q := o.Quorum
	if q == nil {
		return peerlock.Lease{}
	}
	l := peerlock.Lease{TTL: q.TTL, Margin: q.TTL/100 + 2*time.Millisecond}
	if q.Extend {
		l.Renew = q.TTL / 3
	}
	return l
}
