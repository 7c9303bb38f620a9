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

// MessageKind is one of the three messages of the algorithm.
type MessageKind uint8

// The messages.
const (
	Request MessageKind = iota + 1 // asks for the lock
	Ack                            // answers a Request
	Release                        // takes a Request back, after the lock was held or not
)

func (k MessageKind) String() string { return [...]string{"?", "Request", "Ack", "Release"}[k] }

// Message is what one peer tells another about one resource. At is the timestamp of
// the request, in an Ack that of the request that is answered, and in a Release the
// sender's clock.
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
