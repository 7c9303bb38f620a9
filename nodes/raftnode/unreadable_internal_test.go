package raftnode

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/raft"
)

// unreadable is a log that says what it has and cannot give it.
type unreadable struct{ *raft.InmemStore }

func (unreadable) GetLog(index uint64, into *raft.Log) error {
	if index > 1 {
		into.Index, into.Term, into.Type = index, 1, raft.LogNoop
		return nil
	}
	return errors.New("sealed segment has no index block")
}

// TestALogThatCannotBeReadIsAnError: the library panics.
func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	store := raft.NewInmemStore()
	if err := store.StoreLogs([]*raft.Log{logCommand(1), logCommand(2)}); err != nil {
		t.Fatal(err)
	}
	_, trans := raft.NewInmemTransport("a")
	conf := raft.DefaultConfig()
	conf.LocalID = "a"
	_, err := newRaft(conf, machine{}, unreadable{store}, store, raft.NewInmemSnapshotStore(), trans)
	if err == nil || !strings.Contains(err.Error(), "no index block") || !strings.Contains(err.Error(), "remove this server's directory") {
		t.Errorf("got %v", err)
	}
}
