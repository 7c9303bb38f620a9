package catalog

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
	"locklab/verify/explore"
	"locklab/verify/sim"
)

// Core is the pure core of a peer-to-peer lock, for what runs it without a network. The
// types of its states and messages are hidden.
type Core struct {
	Simulator sim.Simulator
	Subject   explore.Subject
	// Cohort says that one acquisition among the peers serves several clients of a peer: what is
	// explored, with one client at each, shows nothing of that.
	Cohort bool
}

// core hides the types of an algorithm. phase is how far a peer is, in the words of its core.
func core[S, M any, P peercore.Core[S, M], F fmt.Stringer](alg peercore.Algorithm[S, M], phase func(P) F, shell sim.Shell) Core {
	return Core{
		Simulator: sim.New[S, M, P](alg, shell),
		Subject:   explore.Of(alg, func(p P) string { return phase(p).String() }),
		Cohort:    shell.Cohort.Size > 0,
	}
}
