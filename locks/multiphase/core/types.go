package core

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Phase is how far a peer is with a resource.
type Phase uint8

// The four phases.
const (
	None       Phase = iota // does not want the lock
	Lurking                 // wants it and waits for others to finish
	Soliciting              // has asked its peers for consent
	Acquired                // holds the lock
)

func (p Phase) String() string {
	return [...]string{"NONE", "LURKING", "SOLICITING", "ACQUIRED"}[p]
}

// MessageKind is one of the three messages of the algorithm.
type MessageKind uint8

// The messages.
const (
	MyLock    MessageKind = iota + 1 // asks for consent
	YourLock                         // consents
	LockReset                        // says that the sender's round is over
)

func (k MessageKind) String() string {
	return [...]string{"?", "MyLock", "YourLock", "LockReset"}[k]
}

// Message is what one peer tells another about one resource.
type Message struct {
	Kind MessageKind
	// Round is the sender's round in MyLock and LockReset, and in YourLock the
	// round that is answered. Rounds of different incarnations of a peer are never
	// compared: a new incarnation comes over a new connection.
	Round uint64
	// View is in MyLock the set of peers that the sender is connected to.
	View peercore.Set
	// Lurks says in YourLock that the sender wants the lock too and waits.
	Lurks bool
}

func (m Message) String() string {
	switch {
	case m.Kind == MyLock:
		return fmt.Sprintf("MyLock(%d, %v)", m.Round, m.View)
	case m.Lurks:
		return fmt.Sprintf("%v(%d, lurks)", m.Kind, m.Round)
	default:
		return fmt.Sprintf("%v(%d)", m.Kind, m.Round)
	}
}

// Event is the input of [State.Step].
type Event = peercore.Event[Message]

// Effect is the output of [State.Step].
type Effect = peercore.Effect[Message]

// Rule says when a lurker may solicit.
type Rule uint8

// The rules.
const (
	// RuleFlow: when every outstanding request of others has been reset.
	RuleFlow Rule = iota
	// RuleLiteral: at any LockReset, as the original list of rules reads. Two of
	// three peers can then hold the lock, with no fault, and without giving up.
	//
	// It is that one rule of the list. Fair, View and Rounds, which the list does not
	// have either, are options of their own. Without all three these gaps of the list
	// stay closed: nothing is acquired before all peers have met; a MyLock is remembered
	// while ACQUIRED too; a peer that leaves, or loses another, looks again at those it remembers;
	// a peer that is lost while SOLICITING begins the round anew, unless it was the last
	// one; a new peer is asked, and told what is asked for, when it connects; LockReset
	// is sent once.
	RuleLiteral
)

func (r Rule) String() string { return [...]string{"flow", "literal"}[r] }

// Options are the rules in force. All peers of a cluster need the same.
type Options struct {
	Rule   Rule
	Fair   bool // a peer that passed a waiting one waits for it in turn
	View   bool // consent only to peers that see all that this one sees
	Rounds bool // consent counts only for the round that it answers
}

// DefaultOptions has every rule in force.
func DefaultOptions() Options { return Options{Rule: RuleFlow, Fair: true, View: true, Rounds: true} }

// Config is what a peer is told once.
type Config struct {
	Self    int          // own rank
	Peers   peercore.Set // ranks of all others
	Options Options
}
