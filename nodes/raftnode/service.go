package raftnode

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"locklab/locks/raftlock/wire"
)

// service is the hub's face to clients.
type service struct {
	hub     *hub
	status  func() *wire.Status
	running sync.WaitGroup
}

// accept serves every connection until the listener is closed.
func (s *service) accept(listener net.Listener) error {
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return fmt.Errorf("raftnode: accept a client: %w", err)
		}
		s.running.Go(func() { s.serve(wire.NewConn(conn)) })
	}
}

// serve carries one session: another goroutine receives, this one sends.
func (s *service) serve(client *wire.Conn) {
	defer func() { _ = client.Close() }()
	var first wire.ClientFrame
	if client.Receive(&first) != nil {
		return
	}
	if first.Hello == nil {
		answer := wire.ServerFrame{End: &wire.End{Reason: wire.ReasonProtocol, Detail: "the first frame of a session must be a hello"}}
		if first.Status {
			answer = wire.ServerFrame{Status: s.status()}
		}
		_ = client.Send(answer) // or it is gone
		return
	}
	c := newConn()
	s.hub.attach(c, first.Hello)
	defer s.hub.detach(c)
	gone := make(chan struct{})
	s.running.Go(func() {
		defer close(gone)
		for {
			var frame wire.ClientFrame
			if client.Receive(&frame) != nil {
				return
			}
			s.hub.receive(c, &frame)
		}
	})
	for {
		select {
		case <-gone:
			return
		case <-c.wake:
		}
		frame := c.take()
		if frame == nil {
			continue
		}
		if client.Send(frame) != nil {
			return
		}
		if frame.End != nil { // the client hangs up: a server that did would lose what it has not read, and the end with it
			<-gone
			return
		}
	}
}
