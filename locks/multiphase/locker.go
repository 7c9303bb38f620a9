package multiphase

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"locklab/locks"
	"locklab/locks/mesh"
	"locklab/locks/multiphase/core"
)

// Locker is one peer of a multiphase cluster.
type Locker struct {
	cfg    Config
	rules  *core.Config
	mesh   *mesh.Mesh
	shards [shardCount]shard
	hash   maphash.Seed

	marked  atomic.Uint32 // shards that have something to send, one bit each
	collect func()        // collectAll, bound once

	closeOnce sync.Once
	lost      chan struct{} // closed by Close
	readyOnce sync.Once
	ready     chan struct{} // closed once bootstrapped
}

var (
	_ locks.Locker         = (*Locker)(nil)
	_ locks.MessageCounter = (*Locker)(nil)
	_ mesh.Handler         = (*network)(nil)
)

// New starts a peer: it listens and dials from now on, and takes part in the
// algorithm for its peers whether or not it is ever asked for a lock itself. Use
// [Locker.Ready] to wait for the others. It owns cfg.Listener, also when it fails.
func New(cfg Config) (*Locker, error) {
	cfg = cfg.withDefaults()
	rules, err := cfg.rules()
	if err != nil {
		return nil, cfg.closeListener(err)
	}
	l := &Locker{cfg: cfg, rules: rules, hash: maphash.MakeSeed(), lost: make(chan struct{}), ready: make(chan struct{})}
	l.collect = l.collectAll
	for i := range l.shards {
		s := &l.shards[i]
		s.locker, s.bit = l, 1<<i
		s.idle = core.New(rules)
		s.resources = map[string]*resource{}
		s.cohort, s.clock = cfg.Options.Cohort, cfg.Clock
		s.limit = cfg.Resources / shardCount
	}
	l.checkReady()
	if l.mesh, err = mesh.New(cfg.mesh((*network)(l))); err != nil {
		return nil, err
	}
	return l, nil
}

// Ready waits until this peer is bootstrapped: it has once been connected to every
// other one, or was told to start alone. Its error wraps locks.ErrUnavailable and
// says who is missing and why.
func (l *Locker) Ready(ctx context.Context) error {
	select {
	case <-l.ready:
		return nil
	default:
	}
	select {
	case <-l.ready:
		return nil
	case <-l.lost:
		return fmt.Errorf("wait for peers: %w", locks.ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("wait for peers: %w: %w: %s", locks.ErrUnavailable, ctx.Err(), l.missing())
	}
}

func (l *Locker) missing() string {
	var problems []string
	for _, p := range l.mesh.Status() {
		if !p.Up {
			problems = append(problems, fmt.Sprintf("%s: %v", p.Peer.ID, p.Problem))
		}
	}
	if len(problems) == 0 {
		return "all are connected now, but never were at once"
	}
	return strings.Join(problems, "; ")
}

// Peers says how it stands with every other peer.
func (l *Locker) Peers() []mesh.Status { return l.mesh.Status() }

// Acquire waits until the resource is held or ctx is done. Waiters of one Locker
// are served in order of arrival, each by an acquisition of its own among the
// peers, or several by one (see Options.Cohort). Its outcome is never unknown.
func (l *Locker) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckResource(resource); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, err)
	}
	s := &l.shards[maphash.String(l.hash, resource)%shardCount]
	c := &claim{shard: s}
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

// finish looks at a claim whose wait is over.
func (l *Locker) finish(ctx context.Context, resource string, c *claim) (locks.Lease, error) {
	select {
	case <-l.lost:
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, locks.ErrClosed)
	default:
	}
	if ctx.Err() != nil { // granted too late for the caller, who may not look at a lease
		_ = c.Release(ctx) // cannot fail but by Close, which frees it as well
		return nil, l.gaveUp(ctx, resource)
	}
	return c, nil
}

func (l *Locker) gaveUp(ctx context.Context, resource string) error {
	err := fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, ctx.Err())
	select {
	case <-l.ready:
		return err
	default:
		return fmt.Errorf("%w: %w: %s", err, locks.ErrUnavailable, l.missing())
	}
}

// claim puts c into the queue of the resource.
func (s *shard) claim(name string, c *claim) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%w: %w", locks.ErrNotAcquired, locks.ErrClosed)
	}
	r, err := s.get(name)
	if err != nil {
		return fmt.Errorf("%w: %w: %w", locks.ErrNotAcquired, locks.ErrUnavailable, err)
	}
	s.newWake(c)
	s.push(r, c)
	return nil
}

// giveUp takes a waiting claim out; false if its wait was over already.
func (l *Locker) giveUp(c *claim) bool {
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
func (l *Locker) flush() { l.mesh.FlushTogether(l.collect) }

// collectAll hands what the shards have to say to the links.
func (l *Locker) collectAll() {
	for marked := l.marked.Swap(0); marked != 0; marked &= marked - 1 {
		l.shards[bits.TrailingZeros32(marked)].collect()
	}
}

// MessagesSent counts MyLock, YourLock and LockReset, one for each receiver.
func (l *Locker) MessagesSent() uint64 {
	var n uint64
	for i := range l.shards {
		s := &l.shards[i]
		s.mu.Lock()
		n += s.sent
		s.mu.Unlock()
	}
	return n
}

// Close ends all waits, counts all leases as lost and disconnects from the peers,
// which go on without this one at once.
func (l *Locker) Close() error {
	var err error
	l.closeOnce.Do(func() {
		close(l.lost)
		for i := range l.shards {
			l.shards[i].close()
		}
		if e := l.mesh.Close(); e != nil {
			err = errors.Join(err, e)
		}
	})
	return err
}

func (l *Locker) checkReady() {
	s := &l.shards[shardCount-1] // the last to hear of a connection
	s.mu.Lock()
	boot := s.idle.Bootstrapped()
	s.mu.Unlock()
	if boot {
		l.readyOnce.Do(func() { close(l.ready) })
	}
}

// network is the Locker as the mesh sees it.
type network Locker

// Connected tells every resource.
func (n *network) Connected(link *mesh.Link) {
	for i := range n.shards {
		n.shards[i].connection(link, core.Connect)
	}
	n.collect()
	(*Locker)(n).checkReady()
}

// Disconnected tells every resource.
func (n *network) Disconnected(link *mesh.Link, _ error) {
	for i := range n.shards {
		n.shards[i].connection(link, core.Disconnect)
	}
	n.collect()
}

// Receive steps the state machines of the resources, right in the goroutine that
// reads the connection.
func (n *network) Receive(link *mesh.Link, batch *mesh.Batch) error {
	for payload, ok := batch.Next(); ok; payload, ok = batch.Next() {
		name, m, err := decodeMessage(payload)
		if err != nil {
			return err
		}
		s := &n.shards[maphash.Bytes(n.hash, name)%shardCount]
		if err := s.receive(link, name, m); err != nil {
			return err
		}
	}
	n.collect()
	return nil
}
