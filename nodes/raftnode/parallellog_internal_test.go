package raftnode

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"locklab/locks/clock"
	"locklab/locks/raftlock/fsm"
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

func newSlowLog(t *testing.T, leads bool) (*parallelLog, slowDisk) {
	t.Helper()
	disk := slowDisk{raft.NewInmemStore(), make(chan error, 16)}
	p, err := newParallelLog(disk)
	if err != nil {
		t.Fatal(err)
	}
	p.setLeading(func() bool { return leads })
	return p, disk
}

func TestALeaderDoesNotWaitForItsDiskButItsStateMachineDoes(t *testing.T) {
	p, disk := newSlowLog(t, true)
	if err := p.StoreLogs([]*raft.Log{logCommand(1), logCommand(2)}); err != nil {
		t.Fatal(err)
	}
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
	p, disk := newSlowLog(t, false)
	disk.gate <- nil
	if err := p.StoreLogs([]*raft.Log{logCommand(1)}); err != nil || p.durableIndex() != 1 {
		t.Errorf("durable up to %d, %v, want 1", p.durableIndex(), err)
	}
	p.close()
}

func TestTheFirstEntryOfATermIsWrittenAtOnce(t *testing.T) {
	p, disk := newSlowLog(t, true)
	disk.gate <- nil
	if err := p.StoreLogs([]*raft.Log{{Index: 1, Term: 1, Type: raft.LogNoop}}); err != nil || p.durableIndex() != 1 {
		t.Errorf("durable up to %d, %v, want 1", p.durableIndex(), err)
	}
	p.close()
}

func TestAFailedDiskAppliesNothing(t *testing.T) {
	p, disk := newSlowLog(t, true)
	if err := p.StoreLogs([]*raft.Log{logCommand(1)}); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	disk.gate <- full
	if p.awaitDurable(1) {
		t.Error("durable on a disk that failed")
	}
	<-p.broken
	if err := p.StoreLogs([]*raft.Log{logCommand(2)}); !errors.Is(err, full) {
		t.Errorf("got %v, want the disk's error", err)
	}
	if !p.failed() {
		t.Error("does not say that it failed")
	}
	p.close()
}

// A server that is closed while its disk is slow leaves out an entry. The disk then takes
// it, and the next one, all the same.
func TestAServerThatClosesAppliesNothingAfterAnEntryThatItLeftOut(t *testing.T) {
	p, disk := newSlowLog(t, true)
	hub := newHub("a", 1, 1, clock.System(), nil, slog.New(slog.DiscardHandler))
	m := machine{hub: hub, log: p}
	if err := p.StoreLogs([]*raft.Log{openCommand(1), openCommand(2)}); err != nil {
		t.Fatal(err)
	}
	p.abandonWaits()
	m.Apply(openCommand(1)) // the disk has not taken it yet
	disk.gate <- nil
	p.close()
	if p.durableIndex() != 2 {
		t.Fatalf("durable up to %d, want 2", p.durableIndex())
	}
	m.Apply(openCommand(2))
	if hub.state.Index() != 0 {
		t.Errorf("applied entry %d without entry 1", hub.state.Index())
	}
}

// openCommand is an entry that opens a session.
func openCommand(index uint64) *raft.Log {
	l := logCommand(index)
	l.Data = fsm.AppendEntry(nil, fsm.Entry{Origin: 9, Number: index, Commands: []fsm.Command{
		{Kind: fsm.KindOpen, Client: "client", Lease: time.Second},
	}})
	return l
}
