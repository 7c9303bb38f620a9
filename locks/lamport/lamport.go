package lamport

import (
	"fmt"

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
	// Detect goes on without a peer whose connection is lost; a partition then
	// splits the lock. By default the lock waits until the peer is back.
	Detect bool
	// Defer makes it the algorithm of Ricart and Agrawala.
	Defer bool
}

// ParseOptions reads the options of a spec such as lamport:detect=on.
func ParseOptions(spec locks.Spec) (Options, error) { return Options{}.Parse(spec) }

// Parse is ParseOptions for the algorithm that o.Defer says.
func (o Options) Parse(spec locks.Spec) (Options, error) {
	if spec.Name != o.name() {
		return Options{}, fmt.Errorf("lock %q: want %s: %w", spec, o.name(), locks.ErrInvalid)
	}
	r := spec.Reader()
	r.Variant()
	o.Detect = r.Bool("detect", "whether the others go on without a peer whose connection is lost, so that a partition splits the lock", false)
	return o, r.Err()
}

func (o Options) name() string {
	if o.Defer {
		return RicartAgrawala
	}
	return Name
}

// String is the spec that the options were read from, complete and canonical.
func (o Options) String() string {
	detect := "off"
	if o.Detect {
		detect = "on"
	}
	return locks.Spec{Name: o.name(), Options: map[string]string{"detect": detect}}.String()
}

// Algorithm is how peers with these options are made, for explorations and
// simulations.
func (o Options) Algorithm() peercore.Algorithm[State, Message] {
	return peercore.Algorithm[State, Message]{
		Spec: o.String(),
		New: func(self int, peers peercore.Set, _ bool) State {
			return NewState(&Member{Self: self, Peers: peers, Options: o})
		},
		Opens:  func(m Message) bool { return m.Kind == Request },
		Append: appendMessage,
		Decode: decodeMessage,
		Renumber: func(m *Message, _, _ int, f func(owner int, number uint64) uint64) {
			m.At = f(0, m.At)
		},
	}
}

// Config is what a [Locker] is made of.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker struct {
	*peerlock.Locker[State, Message, *State]
}

var (
	_ locks.Locker         = Locker{}
	_ locks.MessageCounter = Locker{}
)

// New starts a peer, see [peerlock.New].
func New(cfg Config) (*Locker, error) { return Start(cfg, cfg.Options) }

// Start starts a peer with these rules, whatever the options in cfg are.
func Start[O any](cfg peerlock.Config[O], rules Options) (*Locker, error) {
	l, err := peerlock.New(cfg, peerlock.Protocol[State, Message]{
		Algorithm: rules.Algorithm(),
		NeedsAll:  !rules.Detect,
	})
	if err != nil {
		return nil, err
	}
	return &Locker{l}, nil
}

// A message on the wire is its kind in one byte and the clock as an unsigned varint.
func appendMessage(b []byte, m Message) []byte {
	return peerlock.AppendNumbered(b, uint8(m.Kind), m.At)
}

func decodeMessage(b []byte) (Message, []byte, error) {
	kind, at, rest, err := peerlock.CutNumbered(b, uint8(Reply))
	return Message{Kind: MessageKind(kind), At: at}, rest, err
}
