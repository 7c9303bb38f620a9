package catalog

import (
	"fmt"
	"strings"

	"locklab/locks"
	"locklab/locks/explore"
	"locklab/locks/lamport"
	lamportcore "locklab/locks/lamport/core"
	"locklab/locks/multiphase"
	multiphasecore "locklab/locks/multiphase/core"
	"locklab/locks/multiphase/quorum"
	"locklab/locks/ricartagrawala"
	ricartcore "locklab/locks/ricartagrawala/core"
	"locklab/locks/twophase"
	twophasecore "locklab/locks/twophase/core"
)

// Subject is the pure core of a peer-to-peer lock as it can be explored.
func Subject(spec locks.Spec) (explore.Subject, error) {
	entry, err := Lookup(spec)
	if err != nil {
		return nil, err
	}
	switch spec.Name {
	case multiphase.Name:
		o, err := multiphase.ParseOptions(spec)
		if err == nil && o.Quorum != nil {
			return explore.Of(o.QuorumAlgorithm(), phase[quorum.Phase, *quorum.State]), nil
		}
		return explore.Of(o.Algorithm(), phase[multiphasecore.Phase, *multiphasecore.State]), err
	case lamport.Name:
		o, err := lamport.ParseOptions(spec)
		return explore.Of(o.Algorithm(), phase[lamportcore.Phase, *lamportcore.State]), err
	case ricartagrawala.Name:
		o, err := ricartagrawala.ParseOptions(spec)
		return explore.Of(o.Algorithm(), phase[ricartcore.Phase, *ricartcore.State]), err
	case twophase.Name:
		o, err := twophase.ParseOptions(spec)
		return explore.Of(o.Algorithm(), phase[twophasecore.Phase, *twophasecore.State]), err
	}
	return nil, fmt.Errorf("lock %q has no pure core of peers to explore: want one of %s", entry.Name, strings.Join(PeerNames(), ", "))
}

// PeerNames lists the peer-to-peer locks.
func PeerNames() (names []string) {
	for _, e := range Entries() {
		if e.Peers {
			names = append(names, e.Name)
		}
	}
	return names
}

// phase is how far a peer is, in the words of its own core.
func phase[F fmt.Stringer, P interface{ Phase() F }](p P) string { return p.Phase().String() }
