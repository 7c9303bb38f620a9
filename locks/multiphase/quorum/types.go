package quorum

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Phase is how far a peer is with a resource.
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

// rankBits is how many of a token's low bits are the rank of the peer that made it.
const rankBits = 10

// Token is the token of the peer's counter. Tokens of different peers differ, and are
// ordered by the counter first; 0 is none. A token names a round and is the fencing
// token of the grant that the round may end in.
func Token(counter uint64, rank int) uint64 { return counter<<rankBits | uint64(rank) }

// Counter is the counter of a token.
func Counter(token uint64) uint64 { return token >> rankBits }

// MessageKind is one of the messages of the algorithm.
type MessageKind uint8

// The messages.
const (
	MyLock    MessageKind = iota + 1 // asks for the vote, or to keep it for another lease
	YourLock                         // gives the vote
	Recall                           // asks for the vote to be returned
	Return                           // returns it
	LockReset                        // says that nothing that the sender asked for counts any more
	Stale                            // refuses: Token may have been used already
	Ask                              // asks a recovering peer's question: which tokens were used?
	Floor                            // answers: none above Token
)

func (k MessageKind) String() string {
	return [...]string{"?", "MyLock", "YourLock", "Recall", "Return", "LockReset", "Stale", "Ask", "Floor"}[k]
}

// Message is what one peer tells another about one resource.
type Message struct {
	Kind       MessageKind
	Used       bool // LockReset: the sender held the lock, or may have
	Recovering bool // Floor: the sender does not know more than it was told since it started
	// Seq counts in MyLock how often the lease of the same token has been renewed. YourLock
	// answers with it.
	Seq uint64
	// Token is the round that is asked about or answered, in Stale and Floor the highest
	// that may have been used.
	Token uint64
}

func (m Message) String() string {
	token := fmt.Sprintf("%d.%d", Counter(m.Token), m.Token%(1<<rankBits))
	switch {
	case m.Kind == Ask:
		return m.Kind.String()
	case m.Kind == LockReset:
		return fmt.Sprintf("%v(%s)", m.Kind, map[bool]string{true: "used", false: "unused"}[m.Used])
	case m.Seq > 0:
		return fmt.Sprintf("%v(%s, %d)", m.Kind, token, m.Seq)
	case m.Recovering:
		return fmt.Sprintf("%v(%s, recovering)", m.Kind, token)
	}
	return fmt.Sprintf("%v(%s)", m.Kind, token)
}

// Event is the input of [State.Step].
type Event = peercore.Event[Message]

// Effect is the output of [State.Step].
type Effect = peercore.Effect[Message]

// Part is what a state stands for. How a peer with many resources recovers from the
// loss of its memory is the difference.
type Part uint8

// The parts.
const (
	Whole    Part = iota // one resource, which recovers by itself
	Resource             // one of many resources: it waits for Recover
	Control              // no resource: recovers for all of the peer's
)

// Options are the rules in force. All peers of a cluster need the same.
type Options struct {
	// View makes a peer acquire only when every peer that it is connected to has voted
	// for it, not just a majority of all.
	View bool
	// Disk says that votes are kept on disk: a peer that crashes comes back with them.
	Disk bool
}

// Config is what a peer is told once.
type Config struct {
	Self    int          // own rank
	Peers   peercore.Set // ranks of all others
	Part    Part
	Options Options
}

// majority is how many votes it takes, the own one included.
func (c *Config) majority() int { return (c.Peers.Len()+1)/2 + 1 }

// steadyNeeded is of how many others, that are not recovering themselves, a recovering
// peer must know the floor. Together with the peer they leave less than a majority
// out: a holder by this peer's vote held by one of theirs, too.
func (c *Config) steadyNeeded() int { return c.Peers.Len() + 1 - c.majority() + 1 }
