// Package wire is the protocol between a lock client and the lock service.
//
// A connection carries frames both ways: a length of four bytes, the highest first, and as many
// bytes of JSON. The client's first frame has a Hello. The server that leads answers with
// Attached; any other answers with End and the leader's name. Everything else that the server
// says in a session was committed by a quorum before. In place of the Hello a client may ask for
// the Status.
//
// A broken connection does not end the session: the client dials again, says Hello with its
// session number, and sends again what was not answered.
package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/go-json-experiment/json"
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
	Client  string `json:"client"`           // for logs and histories; it need not be unique
	LeaseMS uint64 `json:"lease_ms"`         // of a new session
	Session uint64 `json:"session,omitzero"` // the one to continue, 0 for a new one
}

// Request is what a client asks for, and as such one command of a log entry. A field
// that its kind does not name is zero.
type Request struct {
	Kind Kind `json:"kind"`
	// Acquire, Release, Renew: the number of the request in its session, from 1. A request
	// that is sent again keeps its number.
	Seq      uint64 `json:"seq,omitzero"`
	Resource string `json:"resource,omitzero"` // Acquire: its name, 1 to 1024 bytes
	Claim    uint64 `json:"claim,omitzero"`    // Release: the number of the acquire that made the claim

	// The rest is for the log: a server fills it in, whatever a client says.

	Session uint64 `json:"session,omitzero"`  // of all but Open
	Floor   uint64 `json:"floor,omitzero"`    // Acquire, Release: that of the client's frame
	Client  string `json:"client,omitzero"`   // Open: that of the Hello
	LeaseMS uint64 `json:"lease_ms,omitzero"` // Open: that of the Hello
	Seen    uint64 `json:"seen,omitzero"`     // Expire: the index of the session's last command that the leader knew of
}

// Kind is what a request does.
type Kind string

// The kinds. The last two are only in the log.
const (
	Acquire Kind = "acquire" // claim the resource, waiting in its queue if it is held
	Release Kind = "release" // end the claim, held (a release) or waiting (the cancelling of a wait)
	// Renew keeps the session and all its leases alive. It is not numbered like the others:
	// seq only names the answer.
	Renew Kind = "renew"
	Close Kind = "close" // end the session with all its claims

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
	LeaseMS uint64 `json:"lease_ms"`
	// Claims are all of the session at this moment: grants that were sent into a broken
	// connection are found here.
	Claims []Claim `json:"claims,omitzero"`
}

// Claim is one of a session.
type Claim struct {
	Seq   uint64 `json:"seq"`            // of the acquire that made it
	Token uint64 `json:"token,omitzero"` // 0 while it waits
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
	Granted   Outcome = "granted"
	Queued    Outcome = "queued"    // the claim waits; Granted follows
	Released  Outcome = "released"  // the claim held the resource until now
	Withdrawn Outcome = "withdrawn" // the claim never held the resource and never will
	NotHeld   Outcome = "not-held"  // there is no such claim; it ended before
	Renewed   Outcome = "renewed"   // the session lives
	Refused   Outcome = "refused"   // a limit was passed, or the request is not valid: nothing was done
	Ended     Outcome = "ended"     // the claim of a repeated acquire has ended since
	Stale     Outcome = "stale"     // the number is below the floor: nothing was done

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
	Detail string `json:"detail,omitzero"`
}

// Reason is why a server hangs up.
type Reason string

// The reasons.
const (
	ReasonNotLeader    Reason = "not-leader"    // leader says who leads, if it knows
	ReasonSessionEnded Reason = "session-ended" // it was not renewed in time, or was never opened
	ReasonClosed       Reason = "closed"        // as its client asked
	ReasonSuperseded   Reason = "superseded"    // the same session was attached to another connection
	ReasonProtocol     Reason = "protocol"      // the client broke the protocol; detail says how
)

// Status is what a server believes, without asking the others.
type Status struct {
	State        string `json:"state"`  // follower, candidate, leader, shutdown or recovering
	Leader       string `json:"leader"` // the name of the server that it takes for the leader, if any
	Term         uint64 `json:"term"`
	LastIndex    uint64 `json:"last_index"`
	CommitIndex  uint64 `json:"commit_index"`
	AppliedIndex uint64 `json:"applied_index"`
	Serving      bool   `json:"serving"` // it leads and has applied everything before its term
}

// frameMax bounds a frame: a session may have 131,072 claims.
const frameMax = 64 << 20

// Conn carries frames. One goroutine may send while another one receives.
type Conn struct {
	net.Conn
	in  *bufio.Reader
	buf []byte
}

// NewConn carries frames over a connection.
func NewConn(c net.Conn) *Conn { return &Conn{Conn: c, in: bufio.NewReader(c)} }

// Send sends a frame.
func (c *Conn) Send(frame any) error {
	text, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	bytes := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text))) //nolint:gosec // below frameMax
	if _, err := c.Write(append(bytes, text...)); err != nil {
		return fmt.Errorf("send frame: %w", err)
	}
	return nil
}

// Receive reads the next frame.
func (c *Conn) Receive(frame any) error {
	var length [4]byte
	if _, err := io.ReadFull(c.in, length[:]); err != nil {
		return fmt.Errorf("receive frame: %w", err)
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n > frameMax {
		return fmt.Errorf("receive frame: it has %d bytes: want at most %d", n, frameMax)
	}
	if n > cap(c.buf) {
		c.buf = make([]byte, n)
	}
	if _, err := io.ReadFull(c.in, c.buf[:n]); err != nil {
		return fmt.Errorf("receive frame: %w", err)
	}
	if err := json.Unmarshal(c.buf[:n], frame); err != nil {
		return fmt.Errorf("decode frame: %w", err)
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
	if err := c.Send(ClientFrame{Status: true}); err != nil {
		return nil, err
	}
	var frame ServerFrame
	if err := c.Receive(&frame); err != nil {
		return nil, err
	}
	if frame.Status == nil {
		return nil, fmt.Errorf("ask %s for its status: its answer has none", addr)
	}
	return frame.Status, nil
}
