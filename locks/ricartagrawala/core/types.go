package core

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Phase is how far a peer is with a resource.
type Phase uint8

// The phases.
const (
	None    Phase = iota // does not want the lock
	Waiting              // has asked all peers
	Holding
)

func (p Phase) String() string { return [...]string{"NONE", "WAITING", "HOLDING"}[p] }

// MessageKind is one of the two messages of the algorithm.
type MessageKind uint8

// The messages.
const (
	Request MessageKind = iota + 1 // asks for the lock
	Reply                          // lets the other one go first
)

func (k MessageKind) String() string { return [...]string{"?", "Request", "Reply"}[k] }

// Message is what one peer tells another about one resource. At is the timestamp of
// the request, in a Reply that of the request that is answered.
type Message struct {
	Kind MessageKind
	At   uint64
}

func (m Message) String() string { return fmt.Sprintf("%v(%d)", m.Kind, m.At) }

// Event is the input of [State.Step].
type Event = peercore.Event[Message]

// Effect is the output of [State.Step].
type Effect = peercore.Effect[Message]

// Config is what a peer is told once.
type Config struct {
	Self  int          // own rank
	Peers peercore.Set // ranks of all others
	// Detect takes a peer whose connection is lost out of the algorithm until it is
	// back. Without it the lock waits for the peer.
	Detect bool
}
