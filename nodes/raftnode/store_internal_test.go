package raftnode

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"locklab/internal/must"
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
