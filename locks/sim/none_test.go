package sim

import "locklab/locks/peerlock/peercore"

// none is a core that does nothing.
type none struct{}

func (*none) Step(_ peercore.Event[int], out []peercore.Effect[int]) []peercore.Effect[int] {
	return out
}
func (*none) Reset(*none, uint64) {}
func (*none) Round() uint64       { return 0 }
func (*none) Idle() bool          { return true }
func (*none) Bootstrapped() bool  { return true }
func (*none) Waits() bool         { return false }
func (*none) Holds() bool         { return false }
