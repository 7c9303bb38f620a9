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
)

func (k EventKind) String() string {
	return [...]string{"?", "request", "leave", "receive", "connect", "disconnect", "wake"}[k]
}

// Event is the input of a step. M is the algorithm's message. Messages of one peer
// arrive in the order in which they were sent for as long as it stays connected; a
// lost connection is seen as Disconnect at both ends before it is made again.
type Event[M any] struct {
	Kind EventKind
	Peer int // Receive, Connect, Disconnect
	Msg  M   // Receive
}

// EffectKind is what a step can ask for.
type EffectKind uint8

// The effects.
const (
	Send  EffectKind = iota + 1 // send Msg to every peer of To
	Hold                        // the lock is held from now on
	Pause                       // give Wake after a random time that grows with Attempt
)

// Effect is the output of a step. Effects are carried out in order; a message to a
// peer whose connection is lost is dropped. A Pause replaces an earlier one.
type Effect[M any] struct {
	Kind    EffectKind
	Attempt int // Pause
	To      Set // Send, never empty
	Msg     M   // Send
}

func (e Effect[M]) String() string {
	switch e.Kind {
	case Hold:
		return "hold"
	case Pause:
		return fmt.Sprintf("pause(%d)", e.Attempt)
	default:
		return fmt.Sprintf("%v -> %v", e.Msg, e.To)
	}
}
