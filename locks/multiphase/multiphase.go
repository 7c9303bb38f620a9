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

// Config configures a [Locker]. Self.Rank is the peer's priority.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster: the common shell around the core of either algorithm.
type Locker interface {
	locks.Locker
	locks.MessageCounter
	locks.Failer
	// Ready waits until this peer can acquire, see [peerlock.Locker.Ready].
	Ready(ctx context.Context) error
	// Peers returns the status of the connection to every other peer.
	Peers() []mesh.Status
}

// New starts a peer, see [peerlock.New].
func New(cfg Config) (Locker, error) {
	if cfg.Options.Quorum != nil {
		return peerlock.New(cfg, cfg.Options.QuorumProtocol())
	}
	return peerlock.New(cfg, cfg.Options.Protocol())
}

// Protocol describes peers with these options, if Quorum is nil.
func (o Options) Protocol() peerlock.Protocol[core.State, core.Message] {
	p := peerlock.Protocol[core.State, core.Message]{Algorithm: o.Rules.Algorithm(), Cohort: o.cohort()}
	p.Spec = o.shared()
	return p
}

// QuorumProtocol describes peers with Quorum. The margin of the lease allows a clock drift of 1%,
// as in Redlock.
func (o Options) QuorumProtocol() peerlock.Protocol[quorum.State, quorum.Message] {
	q := o.Quorum
	p := peerlock.Protocol[quorum.State, quorum.Message]{
		Algorithm: quorum.Algorithm(), NeedsMost: true, Cohort: o.cohort(),
		Lease: peerlock.Lease{TTL: q.TTL, Margin: q.TTL/100 + 2*time.Millisecond},
	}
	if q.Extend {
		p.Lease.Renew = q.TTL / 3
	}
	p.Spec = o.shared()
	return p
}

func (o Options) cohort() peerlock.Cohort { return peerlock.Cohort{Size: o.Cohort, Time: cohortTime} }
