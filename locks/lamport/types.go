package lamport

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Phase is a peer's progress towards holding a resource.
type Phase uint8

// The phases.
const (
	None    Phase = iota // does not want the lock
	Waiting              // has asked all peers
	Holding
)

func (p Phase) String() string { return [...]string{"NONE", "WAITING", "HOLDING"}[p] }

// MessageKind is one of the messages of the algorithms.
type MessageKind uint8

// The messages.
const (
	Request MessageKind = iota + 1 // asks for the lock
	Ack                            // Lamport: answers a Request
	Release                        // Lamport: takes a Request back, after the lock was held or not
	Reply                          // Ricart and Agrawala: answers a Request
)

func (k MessageKind) String() string {
	return [...]string{"?", "Request", "Ack", "Release", "Reply"}[k]
}

// Message is what one peer tells another about one resource. At is the timestamp of the request,
// of the answered request in an Ack or Reply, and the sender's clock in a Release.
type Message struct {
	Kind MessageKind
	At   uint64
}

func (m Message) String() string { return fmt.Sprintf("%v(%d)", m.Kind, m.At) }

// Event is the input of [State.Step].
type Event = peercore.Event[Message]

// Effect is the output of [State.Step].
type Effect = peercore.Effect[Message]

// Member is the fixed configuration of a peer.
type Member struct {
	Self  int          // own rank
	Peers peercore.Set // ranks of all others
	Options
}
