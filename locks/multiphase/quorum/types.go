package quorum

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Phase is a peer's progress towards holding a resource.
type Phase uint8

// The four phases.
const (
	None       Phase = iota // does not want the lock
	Lurking                 // wants it and has not asked
	Soliciting              // has asked its peers for their votes
	Acquired                // holds the lock
)

func (p Phase) String() string {
	return [...]string{"NONE", "LURKING", "SOLICITING", "ACQUIRED"}[p]
}

// rankBits is the number of a token's low bits that hold the rank of its peer.
const rankBits = 10

// Token combines the counter and the rank of a peer. Tokens of different peers differ, and are
// ordered by the counter first; 0 is none. A token names a round and is the fencing token
// of its grant.
func Token(counter uint64, rank int) uint64 { return counter<<rankBits | uint64(rank) }

// Counter is the counter of a token.
func Counter(token uint64) uint64 { return token >> rankBits }

// MessageKind is one of the messages of the algorithm.
type MessageKind uint8

// The messages.
const (
	MyLock    MessageKind = iota + 1 // asks for the vote, or for another lease
	YourLock                         // gives the vote
	Recall                           // asks for the vote back
	Return                           // returns the vote
	LockReset                        // withdraws all requests of the sender
	Stale                            // refuses: Token may have been used already
)

func (k MessageKind) String() string {
	return [...]string{"?", "MyLock", "YourLock", "Recall", "Return", "LockReset", "Stale"}[k]
}

// Message is what one peer tells another about one resource.
type Message struct {
	Kind MessageKind
	Used bool // LockReset: the sender held the lock, or may have
	// Seq is the number of the renewal in MyLock, and in the YourLock that answers it.
	Seq uint64
	// Token is the round of the request or answer; in Stale the highest that may have been used.
	Token uint64
}

func (m Message) String() string {
	token := fmt.Sprintf("%d.%d", Counter(m.Token), m.Token%(1<<rankBits))
	switch {
	case m.Kind == LockReset:
		return fmt.Sprintf("%v(%s)", m.Kind, map[bool]string{true: "used", false: "unused"}[m.Used])
	case m.Seq > 0:
		return fmt.Sprintf("%v(%s, %d)", m.Kind, token, m.Seq)
	}
	return fmt.Sprintf("%v(%s)", m.Kind, token)
}

// Event is the input of [State.Step].
type Event = peercore.Event[Message]

// Effect is the output of [State.Step].
type Effect = peercore.Effect[Message]

// config is the fixed configuration of a peer.
type config struct {
	self  int          // own rank
	peers peercore.Set // ranks of all others
}

// majority is the number of votes that a grant needs, its own included.
func (c *config) majority() int { return (c.peers.Len()+1)/2 + 1 }
