package raftnode

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"locklab/locks/raftlock/fsm"
)

// machine lets raft drive the hub's state machine.
type machine struct {
	hub *hub
	log *parallelLog // nil if the log is in memory
}

var _ raft.FSM = machine{}

// errDiskFailed says that the log can no longer be written.
var errDiskFailed = errors.New("raftnode: the log cannot be written")

// Apply applies one committed entry. The outputs go to the clients from here, so
// there is nothing to return. An entry that this server's disk does not take is
// never applied, nor any after it: the server is about to end.
func (m machine) Apply(entry *raft.Log) any {
	if m.log == nil || m.log.awaitDurable(entry.Index) {
		m.hub.apply(entry.Index, entry.Data)
	}
	return nil
}

// Snapshot encodes the state at once: it is small, and raft waits meanwhile.
func (m machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.log != nil && m.log.failed() {
		return nil, errDiskFailed // the state may lack entries
	}
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	return snapshot(m.hub.state.AppendSnapshot(nil)), nil
}

// Restore replaces the state.
func (m machine) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }() // nothing was written
	data, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	state, err := fsm.DecodeSnapshot(data)
	if err != nil {
		return fmt.Errorf("restore snapshot: %w", err)
	}
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	m.hub.state = state
	return nil
}

type snapshot []byte

func (s snapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(s); err != nil {
		_ = sink.Cancel() // the first error says more
		return fmt.Errorf("write snapshot: %w", err)
	}
	return sink.Close()
}

func (snapshot) Release() {}
