package raftnode

import (
	"sync"

	"locklab/internal/signals"
	"locklab/locks/raftlock/fsm"
	"locklab/locks/raftlock/wire"
)

// conn is one client's stream. The hub puts frames together in it, and the
// stream's own goroutine sends whatever has come together since it last did.
type conn struct {
	// Guarded by the hub's mutex.
	session uint64
	ended   bool
	waiting int // requests that are not answered

	marked bool // listed in hub.marked

	mu   sync.Mutex
	next *wire.ServerFrame
	wake chan struct{} // has a token while the stream's goroutine is to send what has come together
}

func newConn() *conn { return &conn{next: &wire.ServerFrame{}, wake: make(chan struct{}, 1)} }

func (c *conn) attach(a *wire.Attached) {
	c.mu.Lock()
	c.next.Attached = a
	c.mu.Unlock()
}

func (c *conn) answer(out *fsm.Output) {
	a := wire.Answer{Seq: out.Seq, Outcome: out.Outcome, Token: out.Token}
	c.mu.Lock()
	c.next.Answers = append(c.next.Answers, a)
	c.mu.Unlock()
}

// end lets the stream end once everything before was sent. A nil reason ends a
// stream that is gone anyway.
func (c *conn) end(reason *wire.End) {
	if c.ended {
		return
	}
	c.ended = true
	if reason != nil {
		c.mu.Lock()
		c.next.End = reason
		c.mu.Unlock()
		signals.Wake(c.wake)
	}
}

// take returns what is to be sent now, nil if there is nothing.
func (c *conn) take() *wire.ServerFrame {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next.Attached == nil && len(c.next.Answers) == 0 && c.next.End == nil {
		return nil
	}
	frame := c.next
	c.next = &wire.ServerFrame{}
	return frame
}
