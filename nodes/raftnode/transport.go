package raftnode

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// streams carries connections, raft's or those of clients. A server's raft address is its name, which
// is the same everywhere; each host dials names at addresses of its own, so that
// every connection goes through the proxy of its link.
type streams struct {
	listener net.Listener
	name     string
	peers    map[raft.ServerAddress]string

	mu     sync.Mutex
	open   map[*trackedConn]struct{}
	closed bool
}

var _ raft.StreamLayer = (*streams)(nil)

func newStreams(listener net.Listener, name string, peers []Peer) *streams {
	s := &streams{
		listener: listener, name: name,
		peers: map[raft.ServerAddress]string{}, open: map[*trackedConn]struct{}{},
	}
	for _, p := range peers {
		s.peers[raft.ServerAddress(p.Name)] = p.Addr
	}
	return s
}

// Dial connects to the server with the given name.
func (s *streams) Dial(name raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	addr, ok := s.peers[name]
	if !ok {
		return nil, fmt.Errorf("dial raft server %q: it is none of the peers", name)
	}
	conn, err := (&net.Dialer{Timeout: timeout}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("dial raft server %q: %w", name, err)
	}
	return s.track(conn)
}

// Accept implements net.Listener.
func (s *streams) Accept() (net.Conn, error) {
	conn, err := s.listener.Accept()
	if err != nil {
		return nil, err
	}
	return s.track(conn)
}

// Close implements net.Listener. It closes all connections too: raft's transport
// leaves the ones that it accepted to be closed by their other end.
func (s *streams) Close() error {
	s.mu.Lock()
	s.closed = true
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for conn := range open {
		_ = conn.Conn.Close() // nothing is owed to it
	}
	return s.listener.Close()
}

// Addr implements net.Listener: the name, which raft tells the others.
func (s *streams) Addr() net.Addr { return nameAddr(s.name) }

func (s *streams) track(conn net.Conn) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close() // it was never used
		return nil, net.ErrClosed
	}
	t := &trackedConn{Conn: conn, streams: s}
	s.open[t] = struct{}{}
	return t, nil
}

type trackedConn struct {
	net.Conn
	streams *streams
}

func (c *trackedConn) Close() error {
	c.streams.mu.Lock()
	delete(c.streams.open, c)
	c.streams.mu.Unlock()
	return c.Conn.Close()
}

type nameAddr string

func (nameAddr) Network() string  { return "raft" }
func (a nameAddr) String() string { return string(a) }
