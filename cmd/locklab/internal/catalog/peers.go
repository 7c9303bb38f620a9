package catalog

import (
	"fmt"
	"strings"

	"locklab/locks"
	"locklab/locks/lamport"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/ricartagrawala"
	"locklab/locks/sim"
	"locklab/locks/twophase"
)

// Core is the pure core of a peer-to-peer lock, for whatever runs it without a
// network. The types of its states and messages are hidden.
type Core struct {
	Simulator func() sim.Simulator // makes one; each is used by one goroutine
}

// Peers finds the core of a peer-to-peer lock.
func Peers(spec locks.Spec) (Core, error) {
	entry, err := Lookup(spec)
	if err != nil {
		return Core{}, err
	}
	switch spec.Name {
	case multiphase.Name:
		o, err := multiphase.ParseOptions(spec)
		shell := sim.Shell{Cohort: o.LocalWaiters(), Lease: o.Lease()}
		if err == nil && o.Quorum != nil {
			return core(o.QuorumAlgorithm(), shell), nil
		}
		return core(o.Algorithm(), shell), err
	case lamport.Name:
		o, err := lamport.ParseOptions(spec)
		return core(o.Algorithm(), sim.Shell{}), err
	case ricartagrawala.Name:
		o, err := ricartagrawala.ParseOptions(spec)
		return core(o.Algorithm(), sim.Shell{}), err
	case twophase.Name:
		o, err := twophase.ParseOptions(spec)
		return core(o.Algorithm(), sim.Shell{Pause: o.Delay}), err
	}
	return Core{}, fmt.Errorf("lock %q is no peer-to-peer lock with a pure core: want one of %s", entry.Name, strings.Join(PeerNames(), ", "))
}

func core[S, M any, P peercore.Core[S, M]](alg peercore.Algorithm[S, M], shell sim.Shell) Core {
	return Core{Simulator: func() sim.Simulator { return sim.New[S, M, P](alg, shell) }}
}
