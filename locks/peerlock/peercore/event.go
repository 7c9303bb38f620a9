package peercore

import "fmt"

// EventKind is the kind of an event at a peer.
type EventKind uint8

// The events.
const (
	Request    EventKind = iota + 1 // the application wants the lock
	Leave                           // the application gives up waiting, or releases
	Receive                         // Peer sent Msg
	Connect                         // Peer became reachable
	Disconnect                      // the connection to Peer was lost
	Wake                            // the latest Pause is over, or nearly so
	Expire                          // Timer has expired
)

func (k EventKind) String() string {
	return [...]string{"?", "request", "leave", "receive", "connect", "disconnect", "wake", "expire"}[k]
}

// Timer is a timer of a core with leases. The shell decides their durations; the core relies
// only on the order in which they expire.
type Timer uint8

// The timers. A lease is counted from before the messages of the step that started
// its timer were sent, by the peer's own monotonic clock.
const (
	// Lease expires when the peer may no longer believe that it holds the lock, or that its
	// request may still get it.
	Lease Timer = iota
	// Renew expires well before Lease: then it is time to renew. The core starts it in each
	// step that asks for votes, and this moment is recorded. A Start of Lease, even a later one
	// that follows the answers, ends the lease one lease time after the last Start of Renew.
	Renew
	// Vote expires when the peer that has this one's vote can no longer rely on it: a Lease and
	// a margin for clock drift after the request arrived. It counts from the step that starts it.
	Vote
	Timers // the number of timers
)

func (t Timer) String() string { return [...]string{"lease", "renew", "vote"}[t] }

// Event is the input of a step. M is the algorithm's message. While a peer is connected, its
// messages arrive in the order in which they were sent. After a lost connection, both ends
// see Disconnect before the next Connect.
type Event[M any] struct {
	Kind  EventKind
	Timer Timer // Expire
	Peer  int   // Receive, Connect, Disconnect
	Msg   M     // Receive
}

// EffectKind is the kind of an effect that a step asks for.
type EffectKind uint8

// The effects.
const (
	Send  EffectKind = iota + 1 // send Msg to every peer of To
	Hold                        // the lock is held from now on, with Token if it is not zero
	Pause                       // send Wake after a random time that grows with Attempt
	Start                       // start or restart Timer
	Stop                        // stop Timer
	Lose                        // a client that was told Hold must assume that it no longer holds
	// Store comes from cores that are [Durable]. The data of AppendStored must be on disk before
	// any message or Hold that follows it, in this step or a later one, leaves the process.
	Store
)

// Effect is the output of a step. Effects are carried out in order; a message to a
// peer whose connection is lost is dropped. A Pause replaces an earlier one.
type Effect[M any] struct {
	Kind    EffectKind
	Timer   Timer  // Start, Stop
	Attempt int    // Pause
	Token   uint64 // Hold: grows with every grant of the resource, 0 if there is none
	To      Set    // Send, never empty
	Msg     M      // Send
}

func (e Effect[M]) String() string {
	switch e.Kind {
	case Hold:
		return "hold"
	case Lose:
		return "lose"
	case Store:
		return "store"
	case Pause:
		return fmt.Sprintf("pause(%d)", e.Attempt)
	case Start:
		return fmt.Sprintf("start %v", e.Timer)
	case Stop:
		return fmt.Sprintf("stop %v", e.Timer)
	default:
		return fmt.Sprintf("%v -> %v", e.Msg, e.To)
	}
}

// SendTo appends a message to the peers of to, if there are any.
func SendTo[M any](to Set, m M, out []Effect[M]) []Effect[M] {
	if to.Empty() {
		return out
	}
	return append(out, Effect[M]{Kind: Send, To: to, Msg: m})
}
