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
	if cfg.Options.Quorum != nil {
		return peerlock.New(cfg, cfg.Options.QuorumProtocol())
	}
	return peerlock.New(cfg, cfg.Options.Protocol())
}

// Protocol is how peers with these options are made, but for those with Quorum.
func (o Options) Protocol() peerlock.Protocol[core.State, core.Message] {
	p := peerlock.Protocol[core.State, core.Message]{Algorithm: o.Rules.Algorithm(), Cohort: o.cohort()}
	p.Spec = o.shared()
	return p
}

// QuorumProtocol is how peers with Quorum are made. The lease has a margin for clocks of which one
// runs faster than the other by up to a hundredth, as Redlock has.
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
