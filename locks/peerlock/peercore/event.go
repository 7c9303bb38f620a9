package peercore

import "fmt"

// EventKind is what can happen to a peer.
type EventKind uint8

// The events.
const (
	Request    EventKind = iota + 1 // the application wants the lock
	Leave                           // it gives up waiting, or releases
	Receive                         // Peer sent Msg
	Connect                         // Peer became reachable
	Disconnect                      // the connection to Peer was lost
	Wake                            // the time asked for by the last Pause is over, or nearly so
	Expire                          // Timer is over
)

func (k EventKind) String() string {
	return [...]string{"?", "request", "leave", "receive", "connect", "disconnect", "wake", "expire"}[k]
}

// Timer is one of the times that a core with leases can wait for. How long each is
// the shell decides; the order between them is what such a core relies on.
type Timer uint8

// The timers. A lease is counted from before the messages of the step that started
// its timer were sent, by the peer's own monotonic clock.
const (
	// Lease is over when the peer must believe no more that it holds, or may get, the
	// lock by what it asked for.
	Lease Timer = iota
	// Renew is over well before Lease is: time to ask for a longer one. Its Start comes
	// in the step that asks, the first time and every time again, and marks the moment
	// from which a lease counts: a Start of Lease, also one that comes later, with the
	// answers, makes the lease end one lease time after the last Start of Renew.
	Renew
	// Vote is over when the peer that has this one's vote can't believe any more that it
	// has it: a Lease and a margin for clocks that drift, after it was asked. So it never
	// counts from before the event of the step that starts it.
	Vote
	Timers // how many there are
)

func (t Timer) String() string { return [...]string{"lease", "renew", "vote"}[t] }

// Event is the input of a step. M is the algorithm's message. Messages of one peer
// arrive in the order in which they were sent for as long as it stays connected; a
// lost connection is seen as Disconnect at both ends before it is made again.
type Event[M any] struct {
	Kind  EventKind
	Timer Timer // Expire
	Peer  int   // Receive, Connect, Disconnect
	Msg   M     // Receive
}

// EffectKind is what a step can ask for.
type EffectKind uint8

// The effects.
const (
	Send  EffectKind = iota + 1 // send Msg to every peer of To
	Hold                        // the lock is held from now on, with Token if it is not zero
	Pause                       // give Wake after a random time that grows with Attempt
	Start                       // start Timer, or start it again
	Stop                        // stop Timer
	Lose                        // a client that was told Hold must assume that it no longer holds
	// Store comes from cores that are [Durable]. What AppendStored says after the step is to
	// be on disk before anything leaves the process that this step asks for after it, or a
	// later step does: a message, or the news of a Hold.
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
