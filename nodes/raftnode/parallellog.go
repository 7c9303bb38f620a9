package raftnode

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/hashicorp/raft"
)

// parallelLog lets a leader's disk write its entries while they travel to the
// followers, instead of before (D. Ongaro, "Consensus: Bridging Theory and
// Practice", section 10.2.1). The raft library counts the leader itself for an
// entry as soon as StoreLogs returns, so what it then takes for committed may not
// be on the leader's disk yet. Therefore, above this log:
//
//   - the state machine waits with an entry until it is durable here (machine.Apply);
//   - followers are not told of a commit that is not durable here (durableTransport).
//
// Nobody hears of such an entry, or acts on it, before a majority has it on disk.
// The first entry of a term is written before StoreLogs returns: by it the leader
// commits the entries of earlier terms, which must not rest on memory alone.
//
// A server that does not lead (any more) waits for its disk before it stores, reads
// or deletes, so its answers to a leader never count what is not durable.
type parallelLog struct {
	disk    raft.LogStore
	leading func() bool

	mu      sync.Mutex
	changed sync.Cond
	recent  [cachedEntries]*raft.Log // by index modulo its size; holds all of pending
	pending []*raft.Log              // to be written next
	writing int                      // entries that are being written
	durable uint64                   // index up to which everything is on disk
	err     error                    // of the disk; nothing is written after it
	closed  bool
	done    chan struct{}
	fail    func(error) // is told once of err
}

// cachedEntries stay in memory, so that followers which are up to date are fed
// without reading the disk.
const cachedEntries = 1024

var (
	_ raft.LogStore          = (*parallelLog)(nil)
	_ raft.MonotonicLogStore = (*parallelLog)(nil)
)

func newParallelLog(disk raft.LogStore, fail func(error)) (*parallelLog, error) {
	last, err := disk.LastIndex()
	if err != nil {
		return nil, err
	}
	p := &parallelLog{disk: disk, leading: func() bool { return false }, durable: last, done: make(chan struct{}), fail: fail}
	p.changed.L = &p.mu
	go p.write()
	return p, nil
}

// setLeading says how to know whether this server leads. Until then it does not.
func (p *parallelLog) setLeading(leading func() bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leading = leading
}

// write writes what is pending until the log is closed, then the rest.
func (p *parallelLog) write() {
	defer close(p.done)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.pending) == 0 && !p.closed {
			p.changed.Wait()
		}
		if len(p.pending) == 0 || p.err != nil {
			if p.closed {
				return
			}
			p.changed.Wait()
			continue
		}
		batch := p.pending
		p.pending, p.writing = nil, len(batch)
		p.mu.Unlock()
		runtime.Gosched() // lets the entries set out before this thread waits for the disk
		err := p.disk.StoreLogs(batch)
		p.mu.Lock()
		p.writing = 0
		if err != nil {
			p.broke(err)
		} else {
			p.durable = batch[len(batch)-1].Index
		}
		p.changed.Broadcast()
	}
}

// broke notes that the disk failed. A follower that went on without its log would keep the leader: that
// hears it, and asks it only after ever longer waits, up to ten seconds, to store anything again.
// It must be called with the mutex held.
func (p *parallelLog) broke(err error) {
	if p.err != nil {
		return
	}
	p.err = err
	p.fail(fmt.Errorf("raftnode: the log cannot be written: %w", err))
}

// settle waits until nothing is pending. It must be called with the mutex held.
func (p *parallelLog) settle() error {
	for p.err == nil && (len(p.pending) > 0 || p.writing > 0) {
		p.changed.Wait()
	}
	return p.err
}

// StoreLogs implements raft.LogStore.
func (p *parallelLog) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if p.leading() && deferrable(logs) && len(p.pending)+p.writing+len(logs) <= cachedEntries {
		for _, l := range logs {
			p.recent[l.Index%cachedEntries] = l
		}
		p.pending = append(p.pending, logs...)
		p.changed.Broadcast()
		return nil
	}
	if err := p.settle(); err != nil {
		return err
	}
	if err := p.disk.StoreLogs(logs); err != nil {
		if !p.closed {
			p.broke(err)
			p.changed.Broadcast()
		}
		return err
	}
	for _, l := range logs {
		p.recent[l.Index%cachedEntries] = l
	}
	p.durable = logs[len(logs)-1].Index
	p.changed.Broadcast()
	return nil
}

// deferrable says that none of the entries carries the commit of earlier terms or
// the membership.
func deferrable(logs []*raft.Log) bool {
	for _, l := range logs {
		if l.Type != raft.LogCommand && l.Type != raft.LogBarrier {
			return false
		}
	}
	return true
}

// StoreLog implements raft.LogStore.
func (p *parallelLog) StoreLog(l *raft.Log) error { return p.StoreLogs([]*raft.Log{l}) }

// GetLog implements raft.LogStore.
func (p *parallelLog) GetLog(index uint64, into *raft.Log) error {
	p.mu.Lock()
	if !p.leading() {
		if err := p.settle(); err != nil {
			p.mu.Unlock()
			return err
		}
	}
	cached := p.recent[index%cachedEntries]
	p.mu.Unlock()
	if cached != nil && cached.Index == index {
		*into = *cached
		return nil
	}
	return p.disk.GetLog(index, into)
}

// FirstIndex implements raft.LogStore.
func (p *parallelLog) FirstIndex() (uint64, error) { return p.settled(p.disk.FirstIndex) }

// LastIndex implements raft.LogStore.
func (p *parallelLog) LastIndex() (uint64, error) { return p.settled(p.disk.LastIndex) }

func (p *parallelLog) settled(ask func() (uint64, error)) (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.settle(); err != nil {
		return 0, err
	}
	return ask()
}

// DeleteRange implements raft.LogStore.
func (p *parallelLog) DeleteRange(low, high uint64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.settle(); err != nil {
		return err
	}
	clear(p.recent[:])
	if err := p.disk.DeleteRange(low, high); err != nil {
		return err
	}
	last, err := p.disk.LastIndex()
	if err != nil {
		return err
	}
	p.durable = last
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore: the log has no gaps.
func (p *parallelLog) IsMonotonic() bool { return true }

// durableIndex is the index up to which everything is on this server's disk.
func (p *parallelLog) durableIndex() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.durable
}

// awaitDurable waits until the entry is on this server's disk. It returns false if
// that will not happen: the disk has failed, or the log was closed. It may say true of a
// later one all the same, for what is pending is still written.
func (p *parallelLog) awaitDurable(index uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.durable < index && p.err == nil && !p.closed {
		p.changed.Wait()
	}
	return p.durable >= index
}

// abandonWaits lets everybody who waits for the disk go. What is pending is still
// written.
func (p *parallelLog) abandonWaits() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.changed.Broadcast()
}

// close writes what is pending and ends the writer. The disk stays open.
func (p *parallelLog) close() {
	p.abandonWaits()
	<-p.done
}

// durableTransport keeps from followers what this server has not on disk.
type durableTransport struct {
	*raft.NetworkTransport
	log *parallelLog
}

var (
	_ raft.Transport   = (*durableTransport)(nil)
	_ raft.WithPreVote = (*durableTransport)(nil)
	_ raft.WithClose   = (*durableTransport)(nil)
)

// AppendEntries implements raft.Transport.
func (t *durableTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) error {
	t.hide(args)
	return t.NetworkTransport.AppendEntries(id, target, args, resp)
}

// AppendEntriesPipeline implements raft.Transport.
func (t *durableTransport) AppendEntriesPipeline(id raft.ServerID, target raft.ServerAddress) (raft.AppendPipeline, error) {
	p, err := t.NetworkTransport.AppendEntriesPipeline(id, target)
	if err != nil {
		return nil, err
	}
	return durablePipeline{p, t}, nil
}

// hide lowers the commit index. Zero, as in heartbeats, stays: it says nothing.
func (t *durableTransport) hide(args *raft.AppendEntriesRequest) {
	if args.LeaderCommitIndex > 0 {
		args.LeaderCommitIndex = min(args.LeaderCommitIndex, t.log.durableIndex())
	}
}

type durablePipeline struct {
	raft.AppendPipeline
	transport *durableTransport
}

func (p durablePipeline) AppendEntries(args *raft.AppendEntriesRequest, resp *raft.AppendEntriesResponse) (raft.AppendFuture, error) {
	p.transport.hide(args)
	return p.AppendPipeline.AppendEntries(args, resp)
}
