package peerlock

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strings"
	"sync"

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
	lost     chan struct{} // closed by Close
	failed   chan error    // of capacity 1
	ready    chan struct{} // closed once bootstrapped
	wakes    sync.Pool     // of channels for claim.over, empty
	shards   [shardCount]shard[S, M, P]
	hash     maphash.Seed // spreads the names

	closing sync.Once

	// See disk.go. Both are nil if nothing is stored.
	journal *journal.Journal
	unlock  func() // lets another process use the file
}

// New starts a peer. It listens and dials from now on, and answers its peers even if it never
// acquires a lock itself. Use [Locker.Ready] to wait for the others. New owns cfg.Listener, also
// when it fails.
func New[S, M any, P peercore.Machine[S, M], O any](cfg Config[O], protocol Protocol[S, M]) (*Locker[S, M, P], error) {
	l := &Locker[S, M, P]{
		protocol: protocol, clock: cmp.Or(cfg.Clock, clock.System()), log: cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)),
		lost: make(chan struct{}), failed: make(chan error, 1), ready: make(chan struct{}), hash: maphash.MakeSeed(),
	}
	l.wakes.New = func() any { return make(chan struct{}, 1) }
	for i := range l.shards {
		s := &l.shards[i]
		s.locker, s.resources = l, map[string]*resource[S, M, P]{}
		// By ID, so that peers without a seed pause differently.
		s.rand = cfg.Seed.Child(fmt.Sprintf("%s, shard %d", cfg.Self.ID, i)).Rand()
	}
	cfg.Protocol, cfg.Handler = protocol.Spec, (*network[S, M, P])(l)
	state := journal.Config{Path: cfg.StateFile, Owner: cfg.owner(), Sync: cfg.sync}
	if err := l.begin(cfg.Config, cfg.Founding, state); err != nil {
		_ = l.Close() // ends the parts that have started
		return nil, err
	}
	l.checkReady()
	return l, nil
}

// begin starts the peer. It holds all mutexes, so calls from the mesh, timers and the journal wait for it.
func (l *Locker[S, M, P]) begin(cfg mesh.Config, founding bool, state journal.Config) (err error) {
	for i := range l.shards {
		l.shards[i].mu.Lock()
		defer l.shards[i].mu.Unlock()
	}
	if l.mesh, err = mesh.New(cfg); err != nil { // checks cfg
		return err
	}
	var peers peercore.Set
	for _, p := range cfg.Peers {
		peers = peers.With(p.Rank)
	}
	for i := range l.shards {
		l.shards[i].idle = l.protocol.New(cfg.Self.Rank, peers)
	}
	return l.openState(state, founding)
}

// Ready waits until this peer is bootstrapped: for most algorithms, until it has been connected to all
// others at once. Before that it acquires nothing. Its error wraps locks.ErrUnavailable and says which
// peers are missing, and why.
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
		return fmt.Errorf("wait for peers: %w: %w: %s", locks.ErrUnavailable, ctx.Err(), l.unavailable())
	}
}

// unavailable says why this peer can acquire nothing now; "" if it can.
func (l *Locker[S, M, P]) unavailable() string {
	var missing []string
	peers := l.mesh.Status()
	for _, p := range peers {
		if !p.Up {
			missing = append(missing, fmt.Sprintf("%s: %v", p.Peer.ID, p.Problem))
		}
	}
	formed, most := signals.Closed(l.ready), len(peers)+1-len(missing) > (len(peers)+1)/2
	switch {
	case formed && !l.protocol.NeedsAll && (!l.protocol.NeedsMost || most), formed && len(missing) == 0:
		return ""
	case len(missing) > 0:
		return strings.Join(missing, "; ")
	}
	return "all are connected now, but never were at once"
}

// Peers returns the status of the connection to every other peer.
func (l *Locker[S, M, P]) Peers() []mesh.Status { return l.mesh.Status() }

// Acquire waits until the resource is held or ctx is done. Waiters of one Locker are served in
// order of arrival, each by its own acquisition among the peers, or several by one (see
// [Cohort]). Its outcome is never unknown.
func (l *Locker[S, M, P]) Acquire(ctx context.Context, resource string) (locks.Lease, error) {
	if err := locks.CheckAcquire(ctx, resource); err != nil {
		return nil, err
	}
	s := l.shardOf(resource)
	c := s.claim(resource)
	l.mesh.FlushTogether()
	select {
	case <-c.over:
	case <-ctx.Done():
		if s.giveUp(c) {
			return nil, l.gaveUp(ctx, resource)
		}
		<-c.over // granted, or closed, just before
	}
	l.wakes.Put(c.over)
	switch {
	case signals.Closed(l.lost):
		return nil, fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, locks.ErrClosed)
	case ctx.Err() != nil: // granted after the caller's context ended
		_ = c.Release(ctx) // fails only after Close, which frees the resource as well
		return nil, l.gaveUp(ctx, resource)
	}
	return c, nil
}

// gaveUp returns the error of a wait that its context ended.
func (l *Locker[S, M, P]) gaveUp(ctx context.Context, resource string) error {
	err := fmt.Errorf("acquire %q: %w: %w", resource, locks.ErrNotAcquired, ctx.Err())
	if why := l.unavailable(); why != "" {
		return fmt.Errorf("%w: %w: %s", err, locks.ErrUnavailable, why)
	}
	return err
}

// MessagesSent counts the algorithm's messages, one for each receiver.
func (l *Locker[S, M, P]) MessagesSent() (all uint64) {
	for i := range l.shards {
		l.shards[i].mu.Lock()
		all += l.shards[i].sent
		l.shards[i].mu.Unlock()
	}
	return all
}

// Failed implements [locks.Failer]: it sends if the state file could not be written.
func (l *Locker[S, M, P]) Failed() <-chan error { return l.failed }

// Close ends all waits, counts all leases as lost and disconnects from the peers.
func (l *Locker[S, M, P]) Close() error {
	l.closing.Do(func() {
		close(l.lost) // first: a claim of a closed shard looks at it
		for i := range l.shards {
			l.shards[i].close()
		}
		if l.mesh != nil {
			_ = l.mesh.Close() // cannot fail
		}
		if l.journal != nil {
			l.journal.Close()
		}
		if l.unlock != nil {
			l.unlock() // last: the next process frees this peer's vote for itself, so no claim may still rely on it
		}
	})
	return nil
}

// checkReady is called after each event that may have bootstrapped this peer.
func (l *Locker[S, M, P]) checkReady() {
	last := &l.shards[shardCount-1] // all others have seen what it has seen
	last.mu.Lock()
	defer last.mu.Unlock()
	if P(&last.idle).Bootstrapped() && !signals.Closed(l.ready) {
		close(l.ready)
	}
}

// connection delivers a Connect or Disconnect to all shards.
func (l *Locker[S, M, P]) connection(link *mesh.Link, kind peercore.EventKind) {
	for i := range l.shards {
		l.shards[i].connection(link, kind)
	}
	l.checkReady()
}

// network is the Locker as the mesh sees it.
type network[S, M any, P peercore.Machine[S, M]] Locker[S, M, P]

// Connected implements [mesh.Handler].
func (n *network[S, M, P]) Connected(link *mesh.Link) {
	(*Locker[S, M, P])(n).connection(link, peercore.Connect)
}

// Disconnected implements [mesh.Handler].
func (n *network[S, M, P]) Disconnected(link *mesh.Link, _ error) {
	(*Locker[S, M, P])(n).connection(link, peercore.Disconnect)
}

// Receive implements [mesh.Handler]. It steps the state machine of the resource.
func (n *network[S, M, P]) Receive(link *mesh.Link, payload []byte) error {
	m, name, err := n.protocol.Decode(payload)
	if err != nil {
		return err
	}
	if len(name) == 0 || len(name) > locks.ResourceBytesMax {
		return fmt.Errorf("name of %d bytes, want 1 to %d: %w", len(name), locks.ResourceBytesMax, ErrMalformed)
	}
	n.shards[maphash.Bytes(n.hash, name)%shardCount].receive(link, name, m)
	return nil
}
