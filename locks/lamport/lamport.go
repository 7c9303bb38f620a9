package lamport

import (
	"locklab/locks"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// The locks' names in specs.
const (
	Name           = "lamport"
	RicartAgrawala = "ricart-agrawala"
)

// Options chooses the rules. All peers of a cluster must have the same.
type Options struct {
	// Detect makes peers go on without one whose connection is lost; a partition then
	// splits the lock. By default the lock waits until that peer is back.
	Detect bool
	// Defer selects the algorithm of Ricart and Agrawala.
	Defer bool
}

// ParseOptions reads the options of a spec of either lock, such as lamport:detect=on.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	r.Variant()
	o := Options{Defer: spec.Name == RicartAgrawala}
	o.Detect = r.Bool("detect", "whether the others go on without a peer whose connection is lost, "+
		"so that a partition splits the lock", false)
	return o, r.Err()
}

// String returns the complete and canonical spec of the options.
func (o Options) String() string {
	name, detect := Name, "off"
	if o.Defer {
		name = RicartAgrawala
	}
	if o.Detect {
		detect = "on"
	}
	return name + ":detect=" + detect
}

// Algorithm describes peers with these options to explorations and simulations.
func (o Options) Algorithm() peercore.Algorithm[State, Message] {
	return peercore.Algorithm[State, Message]{
		Spec: o.String(),
		New: func(self int, peers peercore.Set) State {
			return State{cfg: &Member{Self: self, Peers: peers, Options: o}, boot: peers.Empty()}
		},
		Opens: func(m Message) bool { return m.Kind == Request },
		Append: func(b []byte, m Message) []byte {
			return peerlock.Fields{Kind: uint8(m.Kind), Numbers: [2]uint64{m.At}}.Append(b)
		},
		Decode: func(b []byte) (Message, []byte, error) {
			f, rest, err := peerlock.Cut(b, uint8(Reply))
			return Message{Kind: MessageKind(f.Kind), At: f.Numbers[0]}, rest, err
		},
	}
}

// Config configures a [Locker].
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker = peerlock.Locker[State, Message, *State]

// New starts a peer, see [peerlock.New].
func New(cfg Config) (*Locker, error) { return peerlock.New(cfg, cfg.Options.Protocol()) }

// Protocol describes peers with these options to [peerlock.New].
func (o Options) Protocol() peerlock.Protocol[State, Message] {
	return peerlock.Protocol[State, Message]{Algorithm: o.Algorithm(), NeedsAll: !o.Detect}
}
