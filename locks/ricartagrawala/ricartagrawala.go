package ricartagrawala

import (
	"locklab/locks"
	"locklab/locks/lamport"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// Name is the lock's name in specs.
const Name = lamport.RicartAgrawala

// Options chooses the rules. All peers of a cluster must have the same.
type Options struct {
	// Detect goes on without a peer whose connection is lost, see [lamport.Options].
	Detect bool
}

// Config is what a [Locker] is made of.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker = lamport.Locker

// ParseOptions reads the options of a spec such as ricart-agrawala:detect=on.
func ParseOptions(spec locks.Spec) (Options, error) {
	o, err := lamport.Options{Defer: true}.Parse(spec)
	return Options{Detect: o.Detect}, err
}

func (o Options) rules() lamport.Options { return lamport.Options{Detect: o.Detect, Defer: true} }

// String is the spec that the options were read from, complete and canonical.
func (o Options) String() string { return o.rules().String() }

// Algorithm is how peers with these options are made, for explorations and simulations.
func (o Options) Algorithm() peercore.Algorithm[lamport.State, lamport.Message] {
	return o.rules().Algorithm()
}

// New starts a peer.
func New(cfg Config) (*Locker, error) { return lamport.Start(cfg, cfg.Options.rules()) }
