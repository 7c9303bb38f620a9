package fsm

import "time"

// Kind is what a command does.
type Kind uint8

// The commands.
const (
	// KindOpen opens a session for Client with Lease. It is not idempotent: a
	// session whose opening was never answered expires unused.
	KindOpen Kind = 1 + iota
	// KindRenew keeps the session alive; its Seq only names the answer.
	KindRenew
	// KindAcquire claims Resource under the number Seq. The claim waits its turn.
	KindAcquire
	// KindRelease ends the claim that was made under the number Claim, whether it
	// is held (a release) or waits (the cancelling of a wait).
	KindRelease
	// KindClose ends the session and all its claims, as the client asked.
	KindClose
	// KindExpire ends the session unless a command of it was applied at an index
	// above Seen. Only a leader proposes it, from its own monotonic clock.
	KindExpire
)

// Command is one command of a log entry. A field that its kind does not name is
// zero.
type Command struct {
	Kind     Kind
	Session  uint64        // all but Open
	Seq      uint64        // Renew, Acquire, Release: the client's number, from 1
	Floor    uint64        // Acquire, Release: every number below has been answered
	Resource string        // Acquire
	Claim    uint64        // Release: the Seq of the Acquire
	Client   string        // Open
	Lease    time.Duration // Open: whole milliseconds
	Seen     uint64        // Expire
}

// Entry is the payload of one log entry: the commands of one batch. Origin and
// Number let the server that proposed the batch recognise it when it is applied.
type Entry struct {
	Origin, Number uint64
	Commands       []Command
}

// Outcome is the answer to a command, or why a claim changed without one.
type Outcome uint8

// The outcomes.
const (
	Opened    Outcome = 1 + iota // the session exists; Output.Session is its number
	Renewed                      // the session lives
	Granted                      // the claim holds the resource, with Output.Token
	Queued                       // the claim waits; a Granted follows by itself
	Released                     // the claim held the resource and does no longer
	Withdrawn                    // the claim waited, or had not arrived, and never will hold
	NotHeld                      // there is no such claim: it ended before
	Ended                        // a repeated acquire whose claim has ended since
	Closed                       // the session has ended on its client's request
	Expired                      // the session has ended because it was not renewed
	NoSession                    // the session has ended before, or never was
	Stale                        // the number is below the floor: nothing was done
	Refused                      // the command breaks a limit or the protocol: nothing was done
)

// Output is something that a client should hear: the answer to a command of the
// entry, or a grant to a claim of an earlier one.
type Output struct {
	Command  int // position in the entry, or Pushed
	Session  uint64
	Seq      uint64 // the command's; for a pushed grant, the claim's
	Outcome  Outcome
	Token    uint64 // Granted: the index of the log entry that granted it
	Resource string // Granted
}

// Pushed is the Command of an output that answers no command of its entry.
const Pushed = -1

// The limits of the state machine, the same on every server.
const (
	// Window is how far above its floor a session may number its requests.
	Window = 1 << 16
	// MaxClaims is how many claims, held and waiting, a session may have.
	MaxClaims = 1 << 17
	// MaxName bounds the bytes of a resource's and a client's name.
	MaxName = 1024
	// MaxLease bounds the lease that a session may ask for.
	MaxLease = time.Hour
)
