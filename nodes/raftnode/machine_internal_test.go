package raftnode

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/raftlock/fsm"
	"locklab/locks/raftlock/wire"
)

// fullDisk is a log whose first write fails.
type fullDisk struct {
	*raft.InmemStore
	failed bool
}

var errFull = errors.New("disk full")

func (d *fullDisk) StoreLogs(logs []*raft.Log) error {
	if !d.failed {
		d.failed = true
		return errFull
	}
	return d.InmemStore.StoreLogs(logs)
}

func logCommand(index uint64) *raft.Log {
	return &raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: []byte{byte(index)}}
}

// TestAFollowerWithAFullDiskEnds: one that went on would keep its leader, which asks it again only after ever
// longer waits; and what a disk that failed a write has of it, nobody knows.
func TestAFollowerWithAFullDiskEnds(t *testing.T) {
	var told []error
	log := &diskLog{LogStore: &fullDisk{InmemStore: raft.NewInmemStore()}, fail: func(err error) { told = append(told, err) }}
	for range 2 { // the disk has space again
		if err := log.StoreLog(logCommand(1)); !errors.Is(err, errFull) {
			t.Errorf("stored: %v, want the disk's error", err)
		}
	}
	if len(told) != 1 || !errors.Is(told[0], errFull) {
		t.Errorf("it ends with %v, want the disk's error once", told)
	}
	last, err := log.LastIndex()
	if must.Do(t, err); last != 0 {
		t.Errorf("the log has %d entries", last)
	}
}

// A log that another program has written may have what this one does not know.
func TestAServerEndsAtAnEntryThatItCannotRead(t *testing.T) {
	hub := newHub("a", 1, 1, clock.System(), nil, slog.New(slog.DiscardHandler))
	failed := make(chan error, 1)
	m := &machine{hub: hub, fail: func(err error) { failed <- err }}
	newer := openCommand(1)
	newer.Data = bytes.Replace(newer.Data, []byte(`"version":1`), []byte(`"version":2`), 1)
	m.Apply(newer)
	if err := <-failed; !errors.Is(err, fsm.ErrUnreadable) || !strings.Contains(err.Error(), "entry 1") {
		t.Errorf("got %v, want one that names the entry", err)
	}
	m.Apply(openCommand(2))
	if len(hub.state.Sessions()) != 0 {
		t.Error("applied entry 2 without entry 1")
	}
	if _, err := m.Snapshot(); !errors.Is(err, errLeftOut) {
		t.Errorf("a snapshot without entry 1: got %v, want %v", err, errLeftOut)
	}
}

// openCommand is an entry that opens a session.
func openCommand(index uint64) *raft.Log {
	l := logCommand(index)
	l.Data, _ = fsm.EncodeEntry(fsm.Entry{Origin: 9, Number: index, Requests: []wire.Request{ // what is encoded here can be
		{Kind: wire.Open, Client: "client", LeaseMS: 1000},
	}})
	return l
}
