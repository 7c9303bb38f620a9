package ricartagrawala

import (
	"fmt"

	"locklab/locks"
	"locklab/locks/mesh"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
	"locklab/locks/ricartagrawala/core"
)

// Name is the lock's name in specs.
const Name = "ricart-agrawala"

// Peer is another member of the cluster: its ID, its rank, which decides between
// equal timestamps, and the address to dial it at.
type Peer = mesh.Peer

// Options chooses the rules. All peers of a cluster must have the same.
type Options struct {
	// Detect goes on without a peer whose connection is lost; a partition then
	// splits the lock. By default the lock waits until the peer is back.
	Detect bool
}

// ParseOptions reads the options of a spec such as ricart-agrawala:detect=on.
func ParseOptions(spec locks.Spec) (Options, error) {
	if spec.Name != Name {
		return Options{}, fmt.Errorf("lock %q: want %s: %w", spec, Name, locks.ErrInvalid)
	}
	r := spec.Reader()
	r.Variant()
	o := Options{Detect: r.Bool("detect", false)}
	return o, r.Err()
}

// String is the spec that the options were read from, complete and canonical.
func (o Options) String() string {
	detect := "off"
	if o.Detect {
		detect = "on"
	}
	return locks.Spec{Name: Name, Options: map[string]string{"detect": detect}}.String()
}

// Algorithm is how peers with these options are made, for explorations and
// simulations.
func (o Options) Algorithm() peercore.Algorithm[core.State, core.Message] {
	return peercore.Algorithm[core.State, core.Message]{
		Spec: o.String(),
		New: func(self int, peers peercore.Set, _ bool) core.State {
			return core.New(&core.Config{Self: self, Peers: peers, Detect: o.Detect})
		},
		Opens:  func(m core.Message) bool { return m.Kind == core.Request },
		Append: appendMessage,
		Decode: decodeMessage,
		Renumber: func(m *core.Message, _, _ int, f func(owner int, number uint64) uint64) {
			m.At = f(0, m.At)
		},
	}
}

// Config is what a [Locker] is made of.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker struct {
	*peerlock.Locker[core.State, core.Message, *core.State]
}

var (
	_ locks.Locker         = Locker{}
	_ locks.MessageCounter = Locker{}
)

// New starts a peer, see [peerlock.New].
func New(cfg Config) (*Locker, error) {
	l, err := peerlock.New(cfg, peerlock.Protocol[core.State, core.Message]{
		Algorithm: cfg.Options.Algorithm(),
		NeedsAll:  !cfg.Options.Detect,
	})
	if err != nil {
		return nil, err
	}
	return &Locker{l}, nil
}

// A message on the wire is its kind in one byte and the timestamp as an unsigned varint.
func appendMessage(b []byte, m core.Message) []byte {
	return peerlock.AppendNumbered(b, uint8(m.Kind), m.At)
}

func decodeMessage(b []byte) (core.Message, []byte, error) {
	kind, at, rest, err := peerlock.CutNumbered(b, uint8(core.Reply))
	return core.Message{Kind: core.MessageKind(kind), At: at}, rest, err
}
