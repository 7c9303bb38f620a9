package raftnode

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/raftlock/fsm"
	"locklab/locks/raftlock/wire"
)

// slowDisk is a log whose writes wait until the test lets them go, or fails them.
type slowDisk struct {
	*raft.InmemStore
	gate chan error
}

func (d slowDisk) StoreLogs(logs []*raft.Log) error {
	if err := <-d.gate; err != nil {
		return err
	}
	return d.InmemStore.StoreLogs(logs)
}

func logCommand(index uint64) *raft.Log {
	return &raft.Log{Index: index, Term: 1, Type: raft.LogCommand, Data: []byte{byte(index)}}
}

func newSlowLog(t *testing.T, leads bool) (*parallelLog, slowDisk, chan error) {
	t.Helper()
	disk, failed := slowDisk{raft.NewInmemStore(), make(chan error, 16)}, make(chan error, 1)
	p, err := newParallelLog(disk, func(err error) { failed <- err })
	must.Do(t, err)
	p.setLeading(func() bool { return leads })
	return p, disk, failed
}

func TestALeaderDoesNotWaitForItsDiskButItsStateMachineDoes(t *testing.T) {
	p, disk, _ := newSlowLog(t, true)
	must.Do(t, p.StoreLogs([]*raft.Log{logCommand(1), logCommand(2)}))
	var entry raft.Log
	if err := p.GetLog(2, &entry); err != nil || entry.Index != 2 {
		t.Fatalf("the entry cannot be sent: %+v, %v", entry, err)
	}
	if p.durableIndex() != 0 {
		t.Error("durable before it was written")
	}
	args := raft.AppendEntriesRequest{LeaderCommitIndex: 2}
	(&durableTransport{log: p}).hide(&args)
	if args.LeaderCommitIndex != 0 {
		t.Errorf("followers are told of commit %d, which is not on this disk", args.LeaderCommitIndex)
	}
	var applied sync.WaitGroup
	var ok bool
	applied.Go(func() { ok = p.awaitDurable(2) })
	disk.gate <- nil
	applied.Wait()
	if !ok || p.durableIndex() != 2 {
		t.Errorf("durable up to %d, want 2", p.durableIndex())
	}
	p.close()
}

func TestAFollowerWaitsForItsDisk(t *testing.T) {
	p, disk, _ := newSlowLog(t, false)
	disk.gate <- nil
	if err := p.StoreLogs([]*raft.Log{logCommand(1)}); err != nil || p.durableIndex() != 1 {
		t.Errorf("durable up to %d, %v, want 1", p.durableIndex(), err)
	}
	p.close()
}

func TestTheFirstEntryOfATermIsWrittenAtOnce(t *testing.T) {
	p, disk, _ := newSlowLog(t, true)
	disk.gate <- nil
	if err := p.StoreLogs([]*raft.Log{{Index: 1, Term: 1, Type: raft.LogNoop}}); err != nil || p.durableIndex() != 1 {
		t.Errorf("durable up to %d, %v, want 1", p.durableIndex(), err)
	}
	p.close()
}

func TestAFailedDiskAppliesNothing(t *testing.T) {
	p, disk, failed := newSlowLog(t, true)
	must.Do(t, p.StoreLogs([]*raft.Log{logCommand(1)}))
	full := errors.New("disk full")
	disk.gate <- full
	if p.awaitDurable(1) {
		t.Error("durable on a disk that failed")
	}
	if err := <-failed; !errors.Is(err, full) {
		t.Errorf("failed with %v, want the disk's error", err)
	}
	if err := p.StoreLogs([]*raft.Log{logCommand(2)}); !errors.Is(err, full) {
		t.Errorf("got %v, want the disk's error", err)
	}
	p.close()
}

// TestAFollowerWithAFullDiskEnds: one that went on would keep its leader, which asks it again only after ever
// longer waits; and what a disk that failed a write has of it, nobody knows.
func TestAFollowerWithAFullDiskEnds(t *testing.T) {
	p, disk, failed := newSlowLog(t, false)
	full := errors.New("disk full")
	disk.gate <- full
	if err := p.StoreLogs([]*raft.Log{logCommand(1)}); !errors.Is(err, full) || p.durableIndex() != 0 {
		t.Errorf("stored: %v, durable up to %d", err, p.durableIndex())
	}
	select {
	case err := <-failed:
		if !errors.Is(err, full) {
			t.Errorf("it ends with %v, want the disk's error", err)
		}
	default:
		t.Error("the server goes on")
	}
	disk.gate <- nil
	if err := p.StoreLogs([]*raft.Log{logCommand(1)}); !errors.Is(err, full) || p.durableIndex() != 0 {
		t.Errorf("it stores again: %v, durable up to %d", err, p.durableIndex())
	}
	p.close()
}

// A server that is closed while its disk is slow leaves out an entry. The disk then takes
// it, and the next one, all the same.
func TestAServerThatClosesAppliesNothingAfterAnEntryThatItLeftOut(t *testing.T) {
	p, disk, _ := newSlowLog(t, true)
	hub := newHub("a", 1, 1, clock.System(), nil, slog.New(slog.DiscardHandler))
	m := &machine{hub: hub, log: p}
	must.Do(t, p.StoreLogs([]*raft.Log{openCommand(1), openCommand(2)}))
	p.abandonWaits()
	m.Apply(openCommand(1)) // the disk has not taken it yet
	disk.gate <- nil
	p.close()
	if p.durableIndex() != 2 {
		t.Fatalf("durable up to %d, want 2", p.durableIndex())
	}
	m.Apply(openCommand(2))
	if len(hub.state.Sessions()) != 0 {
		t.Error("applied entry 2 without entry 1")
	}
	if _, err := m.Snapshot(); !errors.Is(err, errLeftOut) {
		t.Errorf("a snapshot without entry 1: got %v, want %v", err, errLeftOut)
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
}

// openCommand is an entry that opens a session.
func openCommand(index uint64) *raft.Log {
	l := logCommand(index)
	l.Data, _ = fsm.EncodeEntry(fsm.Entry{Origin: 9, Number: index, Requests: []wire.Request{ // what is encoded here can be
		{Kind: wire.Open, Client: "client", LeaseMS: 1000},
	}})
	return l
}
