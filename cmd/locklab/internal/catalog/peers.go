package catalog

import (
	"fmt"
	"strings"
	"time"

	"locklab/locks"
	"locklab/locks/lamport"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock"
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

// multiphaseShell is the times that locks/multiphase gives to its shell.
func multiphaseShell(o multiphase.Options) sim.Shell {
	const cohortTime = 50 * time.Millisecond
	s := sim.Shell{Cohort: peerlock.Cohort{Size: o.Cohort, Time: cohortTime}}
	if q := o.Quorum; q != nil {
		s.Lease = peerlock.Lease{TTL: q.TTL, Margin: q.TTL/100 + 2*time.Millisecond}
		if q.Extend {
			s.Lease.Renew = q.TTL / 3
		}
	}
	return s
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
		if err == nil && o.Quorum != nil {
			return core(o.QuorumAlgorithm(), multiphaseShell(o)), nil
		}
		return core(o.Algorithm(), multiphaseShell(o)), err
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
