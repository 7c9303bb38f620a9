package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/signals"
)

// Handler is told what happens on the mesh. See the package comment for the order
// of the calls. A handler may use any Link while it runs; it must not block, since
// it runs in the goroutine that reads the connection, and must not call Close.
type Handler interface {
	// Connected says that a peer fits and can be sent to.
	Connected(link *Link)
	// Receive is called with every run of payloads that arrived together. An error
	// means that the peer breaks the protocol and ends the link.
	Receive(link *Link, batch *Batch) error
	// Disconnected says that nothing more comes from the link, or goes to it.
	Disconnected(link *Link, cause error)
}

// Mesh is one peer's end of all its connections.
type Mesh struct {
	cfg   Config
	peers []*peer
	ran   atomic.Int64 // the running clock, in nanoseconds

	crowd crowd // decides how FlushTogether works
	room  room  // in the queues of the links

	stop context.CancelFunc
	done <-chan struct{} // closed by stop
	wg   sync.WaitGroup

	handshakes chan struct{} // slots for accepted connections that have not said hello
	mu         sync.Mutex
	conns      map[net.Conn]struct{} // in handshake, to be closed by Close
	complaint  string                // the latest refusal that was logged
}

// peer is another member of the cluster and the connection to it.
type peer struct {
	Peer
	turn sync.Mutex // held from Connected to Disconnected
	link atomic.Pointer[Link]

	mu      sync.Mutex
	newest  hello // of the links so far
	problem error // why there is no link; nil while there is one
}

// New starts to listen, to dial and to send heartbeats. It owns cfg.Listener, also
// when it fails. Close ends it.
func New(cfg Config) (*Mesh, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		if cfg.Listener != nil {
			_ = cfg.Listener.Close() // the configuration is what the caller must hear of
		}
		return nil, err
	}
	const waiting = 64 // connections that may be in handshake at once
	m := &Mesh{cfg: cfg, handshakes: make(chan struct{}, waiting), conns: map[net.Conn]struct{}{}}
	ctx, stop := context.WithCancel(context.Background())
	m.stop, m.done = stop, ctx.Done()
	for _, p := range cfg.Peers {
		m.peers = append(m.peers, &peer{Peer: p, problem: errors.New("not connected yet")})
	}
	if cfg.Listener != nil {
		m.wg.Go(m.accept)
	}
	for _, p := range m.peers {
		if p.Rank > cfg.Self.Rank {
			m.wg.Go(func() { m.dial(ctx, p) })
		}
	}
	m.wg.Go(m.beat)
	return m, nil
}

// Close ends all connections, delivers Disconnected for them and waits for
// everything that New started.
func (m *Mesh) Close() error {
	m.stop()
	if m.cfg.Listener != nil {
		_ = m.cfg.Listener.Close() // fails only if it was closed before
	}
	m.mu.Lock()
	for conn := range m.conns {
		_ = conn.Close()
	}
	m.mu.Unlock()
	for _, p := range m.peers {
		if l := p.link.Load(); l != nil {
			l.fail(ErrClosed)
		}
	}
	m.wg.Wait()
	return nil
}

func (m *Mesh) closed() bool {
	return signals.Closed(m.done)
}

// Flush sends what is queued on all links. It does not block.
func (m *Mesh) Flush() {
	for _, p := range m.peers {
		if l := p.link.Load(); l != nil {
			l.Flush()
		}
	}
}

// Status is how it stands with one peer.
type Status struct {
	Peer    Peer
	Up      bool
	Problem error // why it is not up
}

// Status says how it stands with every peer, in the order of the configuration.
func (m *Mesh) Status() []Status {
	all := make([]Status, 0, len(m.peers))
	for _, p := range m.peers {
		p.mu.Lock()
		all = append(all, Status{Peer: p.Peer, Up: p.link.Load() != nil, Problem: p.problem})
		p.mu.Unlock()
	}
	return all
}

// run is the life of one link, in the goroutine that reads it.
func (m *Mesh) run(p *peer, l *Link) {
	if !p.admit(l) {
		l.fail(ErrReplaced)
		return
	}
	if old := p.link.Load(); old != nil {
		old.fail(ErrReplaced)
	}
	p.turn.Lock() // until Disconnected of the old link has been delivered
	defer p.turn.Unlock()
	if m.closed() || !p.isNewest(l) {
		l.fail(ErrReplaced)
		return
	}
	p.link.Store(l)
	p.setProblem(nil)
	if m.closed() { // Close may have looked for links before this one was there
		l.fail(ErrClosed)
	}
	m.wg.Go(l.writer)
	m.cfg.Log.Info("peer connected", "peer", p.ID, "rank", p.Rank, "incarnation", l.from)
	m.cfg.Handler.Connected(l)
	m.Flush()
	l.fail(l.read())
	p.link.Store(nil)
	p.setProblem(l.why())
	m.cfg.Handler.Disconnected(l, l.why())
	m.Flush()
	m.cfg.Log.Info("peer disconnected", "peer", p.ID, "rank", p.Rank, "cause", l.why())
}

// admit says whether l is newer than every link so far. A connection can be held
// up on its way and arrive after one that was made later by the same process.
func (p *peer) admit(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.from == p.newest.Incarnation && l.attempt <= p.newest.Attempt {
		return false
	}
	p.newest.Incarnation, p.newest.Attempt = l.from, l.attempt
	return true
}

func (p *peer) isNewest(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.from == p.newest.Incarnation && l.attempt == p.newest.Attempt
}

func (p *peer) setProblem(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
}

// beat sends heartbeats, advances the running clock and ends silent links.
func (m *Mesh) beat() {
	tick, ticks := m.cfg.Timing.ticks()
	ran := runClock{tick: tick, at: m.cfg.Clock.Now()}
	detectors := make(map[*Link]*detector, len(m.peers))
	timer := m.cfg.Clock.NewTimer(tick)
	defer timer.Stop()
	for {
		select {
		case <-timer.C():
		case <-m.done:
			return
		}
		timer.Reset(tick)
		now := ran.advance(m.cfg.Clock.Now())
		m.ran.Store(int64(now))
		for l := range detectors {
			if l.peer.link.Load() != l {
				delete(detectors, l)
			}
		}
		for _, p := range m.peers {
			l := p.link.Load()
			if l == nil {
				continue
			}
			if l.silentFor(ticks) {
				l.queue(nil)
				l.Flush()
			}
			d := detectors[l]
			if d == nil {
				fresh := newDetector(m.cfg.Timing, tick, now)
				d = &fresh
				detectors[l] = d
			}
			if now-time.Duration(l.heardAt.Load()) >= tick*time.Duration(ticks-1) { // silentFor is true no sooner
				l.lookForUnread(now)
			}
			d.heard(time.Duration(l.heardAt.Load()))
			if d.dead(now, ran.late) && l.waited < lowWater {
				l.fail(fmt.Errorf("nothing heard for %v: %w", (now - d.last).Round(time.Millisecond), ErrSilent))
			}
			l.checkReads(now)
		}
	}
}
