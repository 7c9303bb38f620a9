package multiphase

import (
	"context"
	"errors"
	"time"

	"locklab/locks"
	"locklab/locks/multiphase/core"
	"locklab/locks/multiphase/quorum"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/mesh"
)

// Config is what a [Locker] is made of. Its Rank is the peer's priority. Zero
// Options are DefaultOptions.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker struct{ peer }

// peer is the common shell around the core of one variant or the other.
type peer interface {
	locks.Locker
	locks.MessageCounter
	locks.Failer
	// Ready waits until this peer can take part, see [peerlock.Locker.Ready].
	Ready(ctx context.Context) error
	// Peers says how it stands with every other peer.
	Peers() []mesh.Status
	// Claims is how many callers of this Locker hold the resource or wait for it.
	Claims(resource string) int
}

var (
	_ locks.Locker         = Locker{}
	_ locks.MessageCounter = Locker{}
)

// New starts a peer, see [peerlock.New].
func New(cfg Config) (*Locker, error) {
	if cfg.Options == (Options{}) {
		cfg.Options = DefaultOptions()
	}
	o := cfg.Options
	if err := o.validate(); err != nil {
		if cfg.Listener != nil {
			err = errors.Join(err, cfg.Listener.Close())
		}
		return nil, err
	}
	if o.Quorum != nil && o.Quorum.Rules.Unaided && cfg.Log != nil {
		cfg.Log.Warn("takes part without what the other peers know of tokens, as told: tokens may go back",
			"peer", cfg.ID, "floor", o.Quorum.Rules.Floor)
	}
	var p peer
	var err error
	if o.Quorum == nil {
		p, err = peerlock.New(cfg, peerlock.Protocol[core.State, core.Message]{
			Algorithm: o.Algorithm(),
			Cohort:    o.LocalWaiters(),
		})
	} else {
		p, err = peerlock.New(cfg, peerlock.Protocol[quorum.State, quorum.Message]{
			Algorithm: o.QuorumAlgorithm(),
			NeedsMost: true,
			Cohort:    o.LocalWaiters(),
			Lease:     o.Lease(),
		})
	}
	if err != nil {
		return nil, err
	}
	return &Locker{p}, nil
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
