package raftnode

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/raft"

	"locklab/locks/raftlock/fsm"
)

// machine lets raft drive the hub's state machine. Raft calls it from one goroutine.
type machine struct {
	hub  *hub
	fail func(err error) // says that the server cannot go on
	left bool            // an entry could not be read, so none after it may be applied
}

var _ raft.FSM = (*machine)(nil)

// errLeftOut says that the state lacks an entry.
var errLeftOut = errors.New("raftnode: an entry of the log was left out")

// Apply applies one committed entry. The outputs go to the clients from here, so
// there is nothing to return. An entry that cannot be read is never applied, nor any after it:
// the server is about to end.
func (m *machine) Apply(entry *raft.Log) any {
	if m.left {
		return nil
	}
	if err := m.hub.apply(entry.Index, entry.Data); err != nil {
		m.left = true
		m.fail(fmt.Errorf("raftnode: apply entry %d of the log: %w", entry.Index, err))
	}
	return nil
}

// Snapshot encodes the state at once: it is small, and raft waits meanwhile.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.left {
		return nil, errLeftOut
	}
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	data, err := m.hub.state.EncodeSnapshot()
	return snapshot(data), err
}

// Restore replaces the state.
func (m *machine) Restore(from io.ReadCloser) error {
	defer func() { _ = from.Close() }() // nothing was written
	data, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read snapshot: %w", err)
	}
	state, err := fsm.DecodeSnapshot(data)
	if err != nil {
		return fmt.Errorf("restore: %w", err)
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
