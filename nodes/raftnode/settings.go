package raftnode

import (
	"errors"
	"fmt"
	"net"
)

// ErrInvalid is wrapped by errors about settings that cannot be used.
var ErrInvalid = errors.New("raftnode: invalid settings")

// The values of Settings.Store.
const (
	StoreDisk   = "disk"   // log and votes on disk with fsync, snapshots beside them
	StoreMemory = "memory" // everything is lost with the process: for comparison only
)

// Settings is what the controller sends to a server, as JSON. Zero means default.
type Settings struct {
	// Peers are the other servers of the service. All servers together, this one
	// included, are its fixed membership.
	Peers []Peer `json:"peers"`
	// Store is disk (the default) or memory.
	Store string `json:"store,omitempty"`
}

// Peer is another server as this server's host reaches it.
type Peer struct {
	Name string `json:"name"`
	// Addr is what to dial for the peer's raft port: on a lab host, the link's proxy.
	Addr string `json:"addr"`
}

func (s Settings) validate(name string) error {
	if s.Store != "" && s.Store != StoreDisk && s.Store != StoreMemory {
		return fmt.Errorf("store %q: want disk or memory: %w", s.Store, ErrInvalid)
	}
	seen := map[string]bool{name: true}
	for i, p := range s.Peers {
		if p.Name == "" || seen[p.Name] {
			return fmt.Errorf("peers[%d]: name %q is empty or taken: want the names of the other servers: %w", i, p.Name, ErrInvalid)
		}
		seen[p.Name] = true
		if _, _, err := net.SplitHostPort(p.Addr); err != nil {
			return fmt.Errorf("peers[%d] (%s): addr %q: want host:port: %w", i, p.Name, p.Addr, ErrInvalid)
		}
	}
	return nil
}
