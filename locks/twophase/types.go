package twophase

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Phase is a peer's progress towards holding a resource.
type Phase uint8

// The phases.
const (
	None      Phase = iota // does not want the lock
	Waiting                // wants it and has reserved nothing
	Preparing              // has asked the participants to vote
	Holding
)

func (p Phase) String() string {
	return [...]string{"NONE", "WAITING", "PREPARING", "HOLDING"}[p]
}

// MessageKind is one of the messages of the algorithm.
type MessageKind uint8

// The messages. Each belongs to one round of one coordinator.
const (
	Prepare    MessageKind = iota + 1 // coordinator: reserve, and vote
	Yes                               // participant: reserved
	No                                // participant: not reserved
	Commit                            // coordinator: all voted Yes
	Abort                             // coordinator: undo the reservation
	Release                           // coordinator: the lock was held and is free
	Inquire                           // participant: asks for the outcome of the round
	YesWaiting                        // participant: Yes, and it waits for the lock itself
)

func (k MessageKind) String() string {
	return [...]string{"?", "Prepare", "Yes", "No", "Commit", "Abort", "Release", "Inquire", "YesWaiting"}[k]
}

// Message is what one peer tells another about one resource. Round is the
// coordinator's; rounds of different coordinators are never compared.
type Message struct {
	Kind  MessageKind
	Round uint64
}

func (m Message) String() string { return fmt.Sprintf("%v(%d)", m.Kind, m.Round) }

// FromCoordinator reports whether the sender is the coordinator of the round; otherwise
// the receiver is.
func (m Message) FromCoordinator() bool {
	return m.Kind == Prepare || m.Kind == Commit || m.Kind == Abort || m.Kind == Release
}

// Event is the input of [State.Step].
type Event = peercore.Event[Message]

// Effect is the output of [State.Step].
type Effect = peercore.Effect[Message]

// Member is the fixed configuration of a peer.
type Member struct {
	Self  int          // own rank
	Peers peercore.Set // ranks of all others
	// Fair makes a coordinator that held while others waited pause before its next round.
	Fair bool
}
