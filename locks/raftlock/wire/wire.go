// Package wire is the protocol between a lock client and the lock service.
//
// A connection carries frames both ways, each a JSON object on a line. The client's first frame
// has a Hello. The server that leads answers with Attached; any other answers with End and the
// leader's name. Everything else that the server says in a session was committed by a quorum
// before. In place of the Hello a client may ask for the Status.
//
// A broken connection does not end the session: the client dials again, says Hello with its
// session number, and sends again what was not answered.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ClientFrame carries everything that the client had to say when it was sent.
type ClientFrame struct {
	Hello  *Hello `json:"hello,omitzero"`  // only in the first frame
	Status bool   `json:"status,omitzero"` // only in the first frame
	// Every request with a number below Floor was answered; the service may forget the
	// answers. It is never above the smallest number in Requests.
	Floor    uint64    `json:"floor,omitzero"`
	Requests []Request `json:"requests,omitzero"` // in ascending order of their numbers
}

// Hello begins a session or continues one.
type Hello struct {
	Client  string        `json:"client"`             // for logs and histories; it need not be unique
	Lease   time.Duration `json:"lease,format:units"` // of a new session
	Session uint64        `json:"session,omitzero"`   // the one to continue, 0 for a new one
}

// Request is what a client asks for, and as such one command of a log entry. A field
// that its kind does not name is zero.
type Request struct {
	Kind Kind `json:"kind"`
	// Seq is the number of a client's request in its session, from 1. A request that is sent
	// again keeps its number.
	Seq      uint64 `json:"seq,omitzero"`
	Resource string `json:"resource,omitzero"` // Acquire: its name
	Claim    uint64 `json:"claim,omitzero"`    // Release: the number of the acquire that made the claim

	// The rest is for the log: a server fills it in, whatever a client says.

	Session uint64        `json:"session,omitzero"`            // of all but Open
	Floor   uint64        `json:"floor,omitzero"`              // that of the client's frame
	Client  string        `json:"client,omitzero"`             // Open: that of the Hello
	Lease   time.Duration `json:"lease,omitzero,format:units"` // Open: that of the Hello
	Seen    uint64        `json:"seen,omitzero"`               // Expire: the index of the session's last command then
}

// Kind is what a request does.
type Kind string

// The kinds. The last two are only in the log.
const (
	Acquire Kind = "acquire" // claim the resource, waiting in its queue if it is held
	Release Kind = "release" // end the claim, held (a release) or waiting (the cancelling of a wait)
	Renew   Kind = "renew"   // keep the session and all its leases alive, as every other request does
	Close   Kind = "close"   // end the session with all its claims

	// Open opens a session, as a Hello wants. It is not idempotent: a session whose opening
	// was never answered expires unused.
	Open Kind = "open"
	// Expire ends the session unless a command of it was applied at an index above Seen. The
	// leader proposes it, from its own monotonic clock.
	Expire Kind = "expire"
)

// ServerFrame carries everything that the server had to say when it was sent.
type ServerFrame struct {
	Attached *Attached `json:"attached,omitzero"` // the first thing that the leader says
	Answers  []Answer  `json:"answers,omitzero"`
	End      *End      `json:"end,omitzero"` // the last thing before the server hangs up
	Status   *Status   `json:"status,omitzero"`
}

// Attached says that the connection carries the session.
type Attached struct {
	Session uint64 `json:"session"`
	// Held are the claims of the session that hold at this moment: grants that were sent into
	// a broken connection are found here.
	Held []Answer `json:"held,omitzero"`
}

// Answer is what became of a request.
type Answer struct {
	Seq     uint64  `json:"seq"`
	Outcome Outcome `json:"outcome"`
	Token   uint64  `json:"token,omitzero"` // Granted: the index of the log entry of the grant
}

// Outcome is what became of a request.
type Outcome string

// The outcomes. The last four are never in an Answer.
const (
	// Granted says that the claim holds the resource. It is also sent by itself, when a waiting
	// claim's turn has come; then seq is the claim's.
	Granted  Outcome = "granted"
	Queued   Outcome = "queued"   // the claim waits; Granted follows
	Released Outcome = "released" // the claim held the resource until now, or waited for it
	NotHeld  Outcome = "not-held" // there is no such claim; it ended before
	Renewed  Outcome = "renewed"  // the session lives
	Ended    Outcome = "ended"    // the claim of a repeated request has ended since: nothing was done

	Opened    Outcome = "opened"     // the session exists (Attached)
	Closed    Outcome = "closed"     // the session has ended as its client asked (ReasonClosed)
	Expired   Outcome = "expired"    // the session was not renewed (ReasonSessionEnded)
	NoSession Outcome = "no-session" // the session has ended before, or never was (ReasonSessionEnded)
)

// End says why the server hangs up.
type End struct {
	Reason Reason `json:"reason"`
	// Leader is the name of the leading server, not its address: every client reaches the
	// servers by addresses of its own.
	Leader string `json:"leader,omitzero"`
}

// Reason is why a server hangs up.
type Reason string

// The reasons.
const (
	ReasonNotLeader    Reason = "not-leader"    // leader says who leads, if it knows
	ReasonSessionEnded Reason = "session-ended" // it was not renewed in time, or was never opened
	ReasonClosed       Reason = "closed"        // as its client asked
)

// Status is what a server believes, without asking the others.
type Status struct {
	State        string `json:"state"`  // follower, candidate, leader or shutdown
	Leader       string `json:"leader"` // the name of the server that it takes for the leader, if any
	AppliedIndex uint64 `json:"applied_index"`
	Serving      bool   `json:"serving"` // it leads and has applied everything before its term
}

// Conn carries frames. One goroutine may send while another one receives.
type Conn struct {
	net.Conn
	frames *jsontext.Decoder
}

// NewConn carries frames over a connection.
func NewConn(c net.Conn) *Conn { return &Conn{c, jsontext.NewDecoder(c)} }

// Send sends a frame.
func (c *Conn) Send(frame any) error {
	line, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	if _, err := c.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("send frame: %w", err)
	}
	return nil
}

// Receive reads the next frame.
func (c *Conn) Receive(frame any) error {
	if err := json.UnmarshalDecode(c.frames, frame); err != nil {
		return fmt.Errorf("receive frame: %w", err)
	}
	return nil
}

// Dial connects to a server. The connection closes when ctx ends.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	return NewConn(c), nil
}

// Ask asks a server for its status.
func Ask(ctx context.Context, addr string) (*Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	var frame ServerFrame
	if err := errors.Join(c.Send(ClientFrame{Status: true}), c.Receive(&frame)); err != nil {
		return nil, err
	}
	if frame.Status == nil {
		return nil, fmt.Errorf("ask %s for its status: its answer has none", addr)
	}
	return frame.Status, nil
}
