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
	// with every further one, up to a factor of 64.
	Delay time.Duration
	// Greedy (fair=off) lets a peer that held ask again at once although others wait.
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

// String returns the complete and canonical spec of the options.
func (o Options) String() string {
	fair := "on"
	if o.Greedy {
		fair = "off"
	}
	return Name + ":delay=" + o.Delay.String() + ",fair=" + fair
}

// Algorithm describes peers with these options to explorations and simulations.
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

// Config configures a [Locker].
type Config = peerlock.Config[Options]

// Locker is one peer of a cluster.
type Locker = peerlock.Locker[State, Message, *State]

// New starts a peer, see [peerlock.New].
func New(cfg Config) (*Locker, error) { return peerlock.New(cfg, cfg.Options.Protocol()) }

// Protocol describes peers with these options to [peerlock.New].
func (o Options) Protocol() peerlock.Protocol[State, Message] {
	return peerlock.Protocol[State, Message]{Algorithm: o.Algorithm(), NeedsAll: true, Pause: o.Delay}
}
