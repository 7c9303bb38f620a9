package raftnode

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"locklab/internal/must"
)

// TestALogThatWasCutIsReadAfterARestart: a follower cuts off what a new leader does not
// have. Release 0.4.0 of raft-wal could not read what stood before the cut
// (github.com/hashicorp/raft-wal/issues/31).
func TestALogThatWasCutIsReadAfterARestart(t *testing.T) {
	dir := t.TempDir()
	open := func() *stores {
		t.Helper()
		s, err := openStores(StoreDisk, dir, hclog.NewNullLogger(), nil)
		must.Do(t, err)
		return s
	}
	s := open()
	for i := range uint64(5) {
		must.Do(t, s.log.StoreLog(logCommand(i+1)))
	}
	must.Do(t, s.log.DeleteRange(4, 5))
	must.Do(t, s.log.StoreLog(logCommand(4)))
	must.Do(t, s.close())
	s = open()
	for i := range uint64(4) {
		var entry raft.Log
		if err := s.log.GetLog(i+1, &entry); err != nil || entry.Index != i+1 {
			t.Errorf("entry %d: %+v, %v", i+1, entry, err)
		}
	}
	must.Do(t, s.close())
}

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
	must.Do(t, store.StoreLogs([]*raft.Log{logCommand(1), logCommand(2)}))
	_, trans := raft.NewInmemTransport("a")
	conf := raft.DefaultConfig()
	conf.LocalID = "a"
	_, err := newRaft(conf, &machine{}, unreadable{store}, store, raft.NewInmemSnapshotStore(), trans)
	if err == nil || !strings.Contains(err.Error(), "no index block") || !strings.Contains(err.Error(), "if every other server runs and has its data, remove this server's directory") {
		t.Errorf("got %v", err)
	}
}
