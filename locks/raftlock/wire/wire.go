// Package wire is the protocol between a lock client and the lock service.
//
// A connection carries frames both ways, each a JSON object on a line. The client's first frame
// has a Hello, or asks for the Status. The leader answers a Hello with Attached; any other server
// answers with End and the leader's name. The leader's other answers in a session are sent only
// after a quorum has committed them.
//
// A broken connection does not end the session: the client dials again, sends Hello with its
// session number, and repeats all unanswered requests.
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

// ClientFrame carries all requests that were pending when it was sent.
type ClientFrame struct {
	Hello  *Hello `json:"hello,omitzero"`  // only in the first frame
	Status bool   `json:"status,omitzero"` // only in the first frame
	// The client has the answers to all requests below Floor; the service may forget them.
	// Floor is never above the smallest number in Requests.
	Floor    uint64    `json:"floor,omitzero"`
	Requests []Request `json:"requests,omitzero"` // in ascending order of their numbers
}

// Hello begins a session or continues one.
type Hello struct {
	Client  string        `json:"client"`             // for logs and histories; it need not be unique
	Lease   time.Duration `json:"lease,format:units"` // of a new session
	Session uint64        `json:"session,omitzero"`   // to continue; 0 for a new one
}

// Request is a request of a client, and one command of a log entry. Fields that do not belong
// to its kind are zero.
type Request struct {
	Kind Kind `json:"kind"`
	// Seq is the number of the request in its session, from 1. A repeated request keeps it.
	Seq      uint64 `json:"seq,omitzero"`
	Resource string `json:"resource,omitzero"` // Acquire: its name
	Claim    uint64 `json:"claim,omitzero"`    // Release: the number of the acquire that made the claim

	// A server sets the rest for the log, and overwrites a client's values.

	Session uint64        `json:"session,omitzero"`            // all kinds but Open
	Floor   uint64        `json:"floor,omitzero"`              // from the client's frame
	Client  string        `json:"client,omitzero"`             // Open: from the Hello
	Lease   time.Duration `json:"lease,omitzero,format:units"` // Open: from the Hello
	Seen    uint64        `json:"seen,omitzero"`               // Expire: the index of the session's last command then
}

// Kind is the kind of a request.
type Kind string

// The kinds. The last two are only in the log.
const (
	Acquire Kind = "acquire" // claim the resource, waiting in its queue if it is held
	Release Kind = "release" // end the claim, held or waiting
	Renew   Kind = "renew"   // keep the session and all its leases alive, as every other request does
	Close   Kind = "close"   // end the session with all its claims

	// Open opens a session for a Hello. It is not idempotent: a session whose opening
	// was never answered expires unused.
	Open Kind = "open"
	// Expire ends the session unless one of its commands was applied at an index above Seen.
	// The leader proposes it, by its own monotonic clock.
	Expire Kind = "expire"
)

// ServerFrame carries all answers that were pending when it was sent.
type ServerFrame struct {
	Attached *Attached `json:"attached,omitzero"` // only in the leader's first frame
	Answers  []Answer  `json:"answers,omitzero"`
	End      *End      `json:"end,omitzero"` // only in the last frame
	Status   *Status   `json:"status,omitzero"`
}

// Attached says that the connection carries the session.
type Attached struct {
	Session uint64 `json:"session"`
	// Held are the claims of the session that hold now. They include grants that a broken
	// connection lost.
	Held []Answer `json:"held,omitzero"`
}

// Answer is the answer to a request, or a grant.
type Answer struct {
	Seq     uint64  `json:"seq"`
	Outcome Outcome `json:"outcome"`
	Token   uint64  `json:"token,omitzero"` // Granted: the index of the log entry of the grant
}

// Outcome is the outcome of a request.
type Outcome string

// The outcomes. The last four are never in an Answer.
const (
	// Granted says that the claim holds the resource. It is also pushed to a waiting claim;
	// then Seq is the claim's.
	Granted  Outcome = "granted"
	Queued   Outcome = "queued"   // the claim waits; Granted follows
	Released Outcome = "released" // the claim held the resource until now, or waited for it
	NotHeld  Outcome = "not-held" // the claim had ended before
	Renewed  Outcome = "renewed"  // the session lives
	Ended    Outcome = "ended"    // a repeated acquire, whose claim has ended: nothing was done

	Opened    Outcome = "opened"     // the session exists (Attached)
	Closed    Outcome = "closed"     // the session has ended as its client asked (ReasonClosed)
	Expired   Outcome = "expired"    // the session was not renewed (ReasonSessionEnded)
	NoSession Outcome = "no-session" // the session had ended, or never existed (ReasonSessionEnded)
)

// End says why the server closes the connection.
type End struct {
	Reason Reason `json:"reason"`
	// Leader is the name of the leader, not its address, because clients dial different
	// addresses.
	Leader string `json:"leader,omitzero"`
}

// Reason is why a server closes the connection.
type Reason string

// The reasons.
const (
	ReasonNotLeader    Reason = "not-leader"    // Leader is set if the server knows it
	ReasonSessionEnded Reason = "session-ended" // it was not renewed in time, or was never opened
	ReasonClosed       Reason = "closed"        // as its client asked
)

// Status is a server's own view; it does not ask the others.
type Status struct {
	State        string `json:"state"`  // follower, candidate, leader or shutdown
	Leader       string `json:"leader"` // the name of the leader, "" if the server knows none
	AppliedIndex uint64 `json:"applied_index"`
	Serving      bool   `json:"serving"` // it leads and has applied everything before its term
}

// Conn carries frames. One goroutine may send while another receives.
type Conn struct {
	net.Conn
	frames *jsontext.Decoder
}

// NewConn returns a Conn over a connection.
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
