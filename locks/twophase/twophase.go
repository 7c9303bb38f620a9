package twophase

import (
	"time"

	"locklab/locks"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/peercore"
)

// Name is the lock's name in specs.
const Name = "2pc"

// Options chooses the rules.
type Options struct {
	// Delay is the mean of the random time before the second attempt; it doubles
	// with every further one, up to 64 times.
	Delay time.Duration
	// Greedy lets a peer that held ask again at once although others wait: fair=off.
	Greedy bool
}

// delayDefault is several round trips inside one zone.
const delayDefault = time.Millisecond

// ParseOptions reads the options of a spec such as 2pc:delay=5ms,fair=off.
func ParseOptions(spec locks.Spec) (Options, error) {
	r := spec.Reader()
	r.Variant()
	o := Options{
		Delay: r.Duration("delay", "mean of the pause before the second try; it doubles with every further one, "+
			"up to 64 times", delayDefault),
		Greedy: !r.Bool("fair", "whether a peer that held while others waited pauses before it asks again", true),
	}
	return o, r.Err()
}

// String is the spec that the options were read from, complete and canonical.
func (o Options) String() string {
	fair := "on"
	if o.Greedy {
		fair = "off"
	}
	return Name + ":delay=" + o.Delay.String() + ",fair=" + fair
}

// Algorithm is how peers with these options are made, for explorations and
// simulations.
func (o Options) Algorithm() peercore.Algorithm[State, Message] {
	return peercore.Algorithm[State, Message]{
		Spec: Name, // peers with other options fit
		New: func(self int, peers peercore.Set) State {
			return State{cfg: &Member{Self: self, Peers: peers, Fair: !o.Greedy}, boot: peers.Empty()}
		},
		Opens: func(m Message) bool { return m.Kind == Prepare || m.Kind == Inquire },
		Append: func(b []byte, m Message) []byte {
			return peerlock.Fields{Kind: uint8(m.Kind), Numbers: [2]uint64{m.Round}}.Append(b)
		},
		Decode: func(b []byte) (Message, []byte, error) {
			f, rest, err := peerlock.Cut(b, uint8(YesWaiting))
			return Message{Kind: MessageKind(f.Kind), Round: f.Numbers[0]}, rest, err
		},
		Renumber: func(m *Message, from, to int, f func(owner int, number uint64) uint64) {
			if !m.FromCoordinator() {
				from = to
			}
			m.Round = f(from, m.Round)
		},
	}
}

// Config is what a [Locker] is made of.
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker = peerlock.Locker[State, Message, *State]

// New starts a peer, see [peerlock.New].
func New(cfg Config) (*Locker, error) { return peerlock.New(cfg, cfg.Options.Protocol()) }

// Protocol is how peers with these options are made.
func (o Options) Protocol() peerlock.Protocol[State, Message] {
	return peerlock.Protocol[State, Message]{Algorithm: o.Algorithm(), NeedsAll: true, Pause: o.Delay}
}
