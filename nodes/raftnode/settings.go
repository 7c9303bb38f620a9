package raftnode

import (
	"errors"
	"fmt"
	"net"
	"time"
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
	// HeartbeatMS is how long a follower waits for its leader before it calls an
	// election, in milliseconds; 300 is the default. A wait is drawn anew each time
	// between this and twice this. A leader steps down when it has not heard from a
	// quorum for five sixths of it.
	HeartbeatMS int `json:"heartbeat_ms,omitempty"`
	// RPCTimeoutMS bounds one message between servers; 600 is the default.
	RPCTimeoutMS int `json:"rpc_timeout_ms,omitempty"`
	// SnapshotEntries is after how many log entries a snapshot is taken; 16384 is
	// the default.
	SnapshotEntries int `json:"snapshot_entries,omitempty"`
	// SnapshotCheckMS is how often a server looks whether a snapshot is due, and
	// twice that at most; 10000 is the default.
	SnapshotCheckMS int `json:"snapshot_check_ms,omitempty"`
	// InFlight is how many log entries may be on their way at once; 2 is the default.
	InFlight int `json:"in_flight,omitempty"`
}

// Peer is another server as this server's host reaches it.
type Peer struct {
	Name string `json:"name"`
	// Addr is what to dial for the peer's raft port: on a lab host, the link's proxy.
	Addr string `json:"addr"`
}

// DefaultSettings is a service of one server that keeps its log on disk.
func DefaultSettings() Settings {
	return Settings{
		Store: StoreDisk, HeartbeatMS: 300, RPCTimeoutMS: 600, SnapshotEntries: 16384, SnapshotCheckMS: 10_000, InFlight: 2,
	}
}

// withDefaults fills in what is zero.
func (s Settings) withDefaults() Settings {
	d := DefaultSettings()
	if s.Store == "" {
		s.Store = d.Store
	}
	for _, f := range []struct{ value, byDefault *int }{
		{&s.HeartbeatMS, &d.HeartbeatMS},
		{&s.RPCTimeoutMS, &d.RPCTimeoutMS},
		{&s.SnapshotEntries, &d.SnapshotEntries},
		{&s.SnapshotCheckMS, &d.SnapshotCheckMS},
		{&s.InFlight, &d.InFlight},
	} {
		if *f.value == 0 {
			*f.value = *f.byDefault
		}
	}
	return s
}

func (s Settings) validate(name string) error {
	if s.Store != StoreDisk && s.Store != StoreMemory {
		return fmt.Errorf("store %q: want disk or memory: %w", s.Store, ErrInvalid)
	}
	for _, f := range []struct {
		name            string
		value, low, top int
	}{
		{"heartbeat_ms", s.HeartbeatMS, 10, 60_000},
		{"rpc_timeout_ms", s.RPCTimeoutMS, 10, 600_000},
		{"snapshot_entries", s.SnapshotEntries, 16, 1 << 30},
		{"snapshot_check_ms", s.SnapshotCheckMS, 10, 1 << 30},
		{"in_flight", s.InFlight, 1, 16},
	} {
		if f.value < f.low || f.value > f.top {
			return fmt.Errorf("%s %d: want %d to %d: %w", f.name, f.value, f.low, f.top, ErrInvalid)
		}
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

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
