package core

import (
	"fmt"

	"locklab/locks/peerlock/peercore"
)

// Phase is a peer's progress towards holding a resource.
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
	// Round is the sender's round in MyLock and LockReset, and the answered round in
	// YourLock. Rounds of different incarnations of a peer are never compared: a new
	// incarnation has a new connection.
	Round uint64
	// View (MyLock) is the set of peers that the sender is connected to.
	View peercore.Set
	// Lurks (YourLock) says that the sender wants the lock too and waits.
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
	// RuleLiteral: at any LockReset, as the original list of rules says. Two of
	// three peers can then hold the lock, without any fault and without giving up.
	//
	// It restores only this rule of the list; Fair, View and Rounds are options of their own.
	// Even without all of them, these gaps of the list stay closed: no peer acquires before it
	// has once been connected to all; a MyLock is remembered while ACQUIRED, too; a peer that
	// leaves, or loses another, looks again at the requests it remembers; a lost peer makes a
	// SOLICITING one start a new round, unless it was the last; a MyLock in force is sent to a
	// new peer, too; LockReset is sent once.
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

// Config is the fixed configuration of a peer.
type Config struct {
	Self    int          // own rank
	Peers   peercore.Set // ranks of all others
	Options Options
}
