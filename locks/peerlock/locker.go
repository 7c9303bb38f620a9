package peerlock

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"locklab/internal/signals"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/peerlock/journal"
	"locklab/locks/peerlock/mesh"
	"locklab/locks/peerlock/peercore"
)

// Locker is one peer of a cluster whose algorithm is the machine P.
type Locker[S, M any, P peercore.Machine[S, M]] struct {
	protocol Protocol[S, M]
	clock    clock.Clock
	log      *slog.Logger
	mesh     *mesh.Mesh
	shards   [shardCount + 1]shard[S, M, P] // the last is for the control state, if there is one
	hash     maphash.Seed

	state   journal.Config                  // with an empty Path if nothing is stored
	journal atomic.Pointer[journal.Journal] // nil then, and until there is a file
	unlock  func()                          // lets another process use the file; nil if nothing is stored
	base    atomic.Uint64                   // states of names that are not in the file start above it

	started chan struct{} // closed once New is done
	marked  atomic.Uint32 // shards that have something to send, one bit each
	collect func()        // collectAll, bound once

	closeOnce sync.Once
	lost      chan struct{} // closed by Close
	failed    chan error    // of one place
	readyOnce sync.Once
	ready     chan struct{} // closed once bootstrapped
}

// New starts a peer: it listens and dials from now on, and takes part in the
// algorithm for its peers whether or not it is ever asked for a lock itself. Use
// [Locker.Ready] to wait for the others. It owns cfg.Listener, also when it fails.
func New[S, M any, P peercore.Machine[S, M], O any](cfg Config[O], protocol Protocol[S, M]) (*Locker[S, M, P], error) {
	cfg = cfg.withDefaults()
	if cfg.Resources < shardCount {
		return nil, cfg.closeListener(fmt.Errorf("peerlock: Resources is %d, want at least %d: %w",
			cfg.Resources, shardCount, locks.ErrInvalid))
	}
	l := &Locker[S, M, P]{
		protocol: protocol, clock: cfg.Clock, log: cfg.Log, hash: maphash.MakeSeed(),
		started: make(chan struct{}), lost: make(chan struct{}), failed: make(chan error, 1), ready: make(chan struct{}),
	}
	defer close(l.started)
	l.collect = l.collectAll
	ranks, err := cfg.ranks()
	if err != nil {
		return nil, cfg.closeListener(err)
	}
	for i := range l.shards {
		s := &l.shards[i]
		s.locker, s.bit = l, 1<<i
		s.idle, s.blank = protocol.New(cfg.Rank, ranks, false), protocol.New(cfg.Rank, ranks, false)
		if protocol.Control != nil {
			_, s.idle = protocol.Control(cfg.Rank, ranks, false)
		}
		s.resources = map[string]*resource[S, M, P]{}
		s.limit = cfg.Resources / shardCount
		s.rand = cfg.Seed.Child(fmt.Sprintf("%s, shard %d", cfg.ID, i)).Rand() // peers without a seed must not pause in step
	}
	amnesic, err := l.openState(cfg.journal(protocol.Spec), cfg.Founding, cfg.Lost)
	if err != nil {
		l.closeShards() // votes may be running
		return nil, cfg.closeListener(err)
	}
	if protocol.Control != nil {
		l.addControl(cfg.Rank, ranks, amnesic)
	}
	l.checkReady()
	if l.mesh, err = mesh.New(cfg.mesh(protocol.Spec, (*network[S, M, P])(l))); err != nil {
		l.closeShards() // a recovery may have begun
		return nil, err
	}
	return l, nil
}

// closeShards closes the file, and ends all claims. What was not stored is never said.
func (l *Locker[S, M, P]) closeShards() {
	l.shards[shardCount].close() // a recovery that ends makes the file: then it has done so, or never will
	if j := l.journal.Load(); j != nil {
		j.Close() // before the other shards: it may ask them what counts
	}
	for i := range l.shards[:shardCount] {
		l.shards[i].close()
	}
	if l.unlock != nil {
		l.unlock() // last: the next process gives the own votes anew, so nobody may hold by them here
	}
}

func (l *Locker[S, M, P]) shardOf(name string) *shard[S, M, P] {
	return &l.shards[maphash.String(l.hash, name)%shardCount]
}

// addControl makes the control state. If there is something to recover from, that
// begins now.
func (l *Locker[S, M, P]) addControl(self int, peers peercore.Set, amnesic bool) {
	s := &l.shards[shardCount]
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &resource[S, M, P]{}
	var idle S
	r.state, idle = l.protocol.Control(self, peers, amnesic)
	if amnesic {
		for i := range l.shards {
			P(&l.shards[i].idle).Reset(&idle, 0)
		}
	}
	s.control, s.resources[""] = true, r
	if amnesic {
		s.start(r, peercore.Recovery)
	}
}

// Ready waits until this peer is bootstrapped: it has once been connected to every
// other one at once, or has recovered what it must not forget. Before that nothing is
// granted to it. Its error wraps locks.ErrUnavailable and says who is missing and why.
func (l *Locker[S, M, P]) Ready(ctx context.Context) error {
	if signals.Closed(l.ready) {
		return nil
	}
	select {
	case <-l.ready:
		return nil
	case <-l.lost:
		return fmt.Errorf("wait for peers: %w", locks.ErrClosed)
	case <-ctx.Done():
		missing := l.missing()
		if missing == "" {
			missing = l.whyNotFormed()
		}
		return fmt.Errorf("wait for peers: %w: %w: %s", locks.ErrUnavailable, ctx.Err(), missing)
	}
}

// missing names the peers that are not connected, "" if there are none.
func (l *Locker[S, M, P]) missing() string {
	var problems []string
	for _, p := range l.mesh.Status() {
		if !p.Up {
			problems = append(problems, fmt.Sprintf("%s: %v", p.Peer.ID, p.Problem))
		}
	}
	return strings.Join(problems, "; ")
}

// Peers says how it stands with every other peer.
func (l *Locker[S, M, P]) Peers() []mesh.Status { return l.mesh.Status() }

// Acquire waits until the resource is held or ctx is done. Waiters of one Locker
// are served in order of arrival, each by an acquisition of its own among the
// peers, or several by one (see [Cohort]). Its outcome is never unknown.
func (l *Locker[S, M, P]) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	if err := l.awaitRoom(ctx); err != nil {
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, err)
	}
	s := l.shardOf(resource)
	c := &claim[S, M, P]{shard: s}
	if err := s.claim(resource, c); err != nil {
		return nil, fmt.Errorf("acquire %q: %w", resource, err)
	}
	l.flush()
	select {
	case <-c.wake:
	case <-ctx.Done():
		if l.giveUp(c) {
			return nil, l.gaveUp(ctx, resource)
		}
		<-c.wake // granted, or closed, just before
	}
	return l.finish(ctx, resource, c)
}

// awaitRoom waits while the queue to a peer is full: to ask for more is what can wait.
func (l *Locker[S, M, P]) awaitRoom(ctx context.Context) error {
	for full := l.mesh.Full(); full != nil; full = l.mesh.Full() {
		select {
		case <-full:
		case <-l.lost:
			return locks.ErrClosed
		case <-ctx.Done():
			return fmt.Errorf("%w: a peer reads too slowly what it is sent: %w", locks.ErrUnavailable, ctx.Err())
		}
	}
	return nil
}

// finish looks at a claim whose wait is over.
func (l *Locker[S, M, P]) finish(ctx context.Context, resource string, c *claim[S, M, P]) (locks.Lease, error) {
	if signals.Closed(l.lost) {
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, locks.ErrClosed)
	}
	if ctx.Err() != nil { // granted too late for the caller, who may not look at a lease
		_ = c.Release(ctx) // cannot fail but by Close, which frees it as well
		return nil, l.gaveUp(ctx, resource)
	}
	return c, nil
}

// gaveUp is the error of a wait that its context ended. If somebody is missed who
// is needed, it says so.
func (l *Locker[S, M, P]) gaveUp(ctx context.Context, resource string) error {
	err := fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, ctx.Err())
	if l.formed() && !l.protocol.NeedsAll && (!l.protocol.NeedsMost || l.most()) {
		return err
	}
	missing := l.missing()
	if missing == "" && !l.formed() {
		missing = l.whyNotFormed()
	}
	if missing != "" {
		return fmt.Errorf("%w: %w: %s", err, locks.ErrUnavailable, missing)
	}
	return err
}

// formed says that this peer is bootstrapped.
func (l *Locker[S, M, P]) formed() bool {
	return signals.Closed(l.ready)
}

// whyNotFormed is why it is not although nobody is missing.
func (l *Locker[S, M, P]) whyNotFormed() string {
	if l.protocol.Control != nil {
		return "it recovers until nothing can be left of what it granted before it started"
	}
	return "all are connected now, but never were at once"
}

// most says that this peer and those that it is connected to are a majority.
func (l *Locker[S, M, P]) most() bool {
	peers := l.mesh.Status()
	up := 1
	for _, p := range peers {
		if p.Up {
			up++
		}
	}
	return up > (len(peers)+1)/2
}

// claim puts c into the queue of the resource.
func (s *shard[S, M, P]) claim(name string, c *claim[S, M, P]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: %w", locks.ErrNotAcquired, locks.ErrClosed)
	}
	r := s.resources[name]
	if s.claimed >= s.limit && (r == nil || r.first == nil) {
		return fmt.Errorf("%w: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable, errTooMany)
	}
	if r == nil {
		r = s.add(name)
	}
	s.newWake(c)
	s.push(r, c)
	return nil
}

// giveUp takes a waiting claim out; false if its wait was over already.
func (l *Locker[S, M, P]) giveUp(c *claim[S, M, P]) bool {
	s := c.shard
	s.mu.Lock()
	if c.phase != waiting {
		s.mu.Unlock()
		return false
	}
	c.phase = released
	s.pop(c)
	s.keepWake(c)
	s.mu.Unlock()
	l.flush()
	return true
}

// flush sends what the shards have to say.
func (l *Locker[S, M, P]) flush() { l.mesh.FlushTogether(l.collect) }

// collectAll hands what the shards have to say to the links.
func (l *Locker[S, M, P]) collectAll() {
	for marked := l.marked.Swap(0); marked != 0; marked &= marked - 1 {
		l.shards[bits.TrailingZeros32(marked)].collect()
	}
}

// Claims is how many callers of this Locker hold the resource or wait for it.
func (l *Locker[S, M, P]) Claims(resource string) int {
	s := l.shardOf(resource)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if r := s.resources[resource]; r != nil {
		for c := r.first; c != nil; c = c.next {
			n++
		}
	}
	return n
}

// MessagesSent counts the algorithm's messages, one for each receiver.
func (l *Locker[S, M, P]) MessagesSent() uint64 {
	var n uint64
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += s.sent
		s.mu.Unlock()
	}
	return n
}

// Close ends all waits, counts all leases as lost and disconnects from the peers.
func (l *Locker[S, M, P]) Close() error {
	var err error
	l.closeOnce.Do(func() {
		close(l.lost)
		l.closeShards()
		if e := l.mesh.Close(); e != nil {
			err = errors.Join(err, e)
		}
	})
	return err
}

func (l *Locker[S, M, P]) checkReady() {
	s := &l.shards[shardCount-1] // the last to hear of a connection
	s.mu.Lock()
	boot := P(&s.idle).Bootstrapped()
	s.mu.Unlock()
	if boot {
		l.readyOnce.Do(func() { close(l.ready) })
	}
}

// network is the Locker as the mesh sees it.
type network[S, M any, P peercore.Machine[S, M]] Locker[S, M, P]

// Connected tells every resource.
func (n *network[S, M, P]) Connected(link *mesh.Link) {
	for i := range n.shards {
		n.shards[i].connection(link, peercore.Connect)
	}
	n.collect()
	(*Locker[S, M, P])(n).checkReady()
}

// Disconnected tells every resource.
func (n *network[S, M, P]) Disconnected(link *mesh.Link, _ error) {
	for i := range n.shards {
		n.shards[i].connection(link, peercore.Disconnect)
	}
	n.collect()
}

// Receive steps the state machines of the resources, right in the goroutine that
// reads the connection.
func (n *network[S, M, P]) Receive(link *mesh.Link, batch *mesh.Batch) error {
	for payload, ok := batch.Next(); ok; payload, ok = batch.Next() {
		m, name, err := n.protocol.Decode(payload)
		if err != nil {
			return err
		}
		control := len(name) == 0 && n.protocol.Control != nil
		if !control && len(name) == 0 || len(name) > locks.ResourceBytesMax {
			return fmt.Errorf("name of %d bytes, want 1 to %d: %w", len(name), locks.ResourceBytesMax, ErrMalformed)
		}
		s := &n.shards[shardCount]
		if !control {
			s = &n.shards[maphash.Bytes(n.hash, name)%shardCount]
		}
		s.receive(link, name, m)
	}
	n.collect()
	return nil
}
