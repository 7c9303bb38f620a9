package mesh

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/signals"
	"locklab/locks/clock"
)

// Handler receives the events of the mesh. See the package comment for the order
// of the calls. A handler may use any Link while it runs; it must not block, since
// it runs in the goroutine that reads the connection, and must not call Close.
type Handler interface {
	// Connected says that the link is open.
	Connected(link *Link)
	// Receive is called with every payload, which is valid until it returns. An error
	// means that the peer breaks the protocol, and ends the link.
	Receive(link *Link, payload []byte) error
	// Disconnected says that the link has ended.
	Disconnected(link *Link, cause error)
}

// Mesh is one peer's end of all its connections.
type Mesh struct {
	cfg         Config
	incarnation uint64 // of this process
	peers       []*peer
	ran         atomic.Int64 // the running clock, in nanoseconds
	flushing    atomic.Bool  // a caller is about to flush for all

	stop context.CancelFunc
	done <-chan struct{} // closed by stop
	wg   sync.WaitGroup
}

// peer is another member of the cluster and the connection to it.
type peer struct {
	Peer
	turn sync.Mutex // held from Connected to Disconnected
	link atomic.Pointer[Link]

	mu                   sync.Mutex
	incarnation, attempt uint64 // of its newest link so far
	problem              error  // why there is no link; nil while there is one
}

// New starts to listen, to dial and to send heartbeats. It owns cfg.Listener, also
// when it fails.
func New(cfg Config) (*Mesh, error) {
	if err := cfg.complete(); err != nil {
		if cfg.Listener != nil {
			_ = cfg.Listener.Close() // err matters more
		}
		return nil, err
	}
	m := &Mesh{cfg: cfg, incarnation: uint64(cfg.Clock.Now().UnixNano())}
	ctx, stop := context.WithCancel(context.Background())
	m.stop, m.done = stop, ctx.Done()
	for _, p := range cfg.Peers {
		m.peers = append(m.peers, &peer{Peer: p, problem: errors.New("not connected yet")})
	}
	if cfg.Listener != nil {
		m.wg.Go(func() { m.accept(ctx) })
	}
	for _, p := range m.peers {
		if p.Rank > cfg.Self.Rank {
			m.wg.Go(func() { m.dial(ctx, p) })
		}
	}
	m.wg.Go(m.beat)
	return m, nil
}

// Close ends all connections, delivers Disconnected for each, and waits for all goroutines.
func (m *Mesh) Close() error {
	m.stop()
	if m.cfg.Listener != nil {
		_ = m.cfg.Listener.Close() // fails only if already closed
	}
	for _, p := range m.peers {
		if l := p.link.Load(); l != nil {
			l.fail(ErrClosed)
		}
	}
	m.wg.Wait()
	return nil
}

func (m *Mesh) closed() bool { return signals.Closed(m.done) }

// Flush flushes all links. It does not block.
func (m *Mesh) Flush() {
	for _, p := range m.peers {
		if l := p.link.Load(); l != nil {
			l.Flush()
		}
	}
}

// FlushTogether is Flush for many concurrent callers: the first of them yields once to all runnable
// goroutines, and then sends for all. With GOMAXPROCS=1 each would otherwise make a write of its own.
func (m *Mesh) FlushTogether() {
	if !m.flushing.CompareAndSwap(false, true) {
		return // the pending flush will send the payloads of this caller, too
	}
	runtime.Gosched()
	m.flushing.Store(false)
	m.Flush()
}

// Status is the state of the connection to one peer.
type Status struct {
	Peer    Peer
	Up      bool
	Problem error // why it is not up
}

// Status returns the state of every connection, in the order of the configuration.
func (m *Mesh) Status() []Status {
	all := make([]Status, 0, len(m.peers))
	for _, p := range m.peers {
		p.mu.Lock()
		all = append(all, Status{Peer: p.Peer, Up: p.link.Load() != nil, Problem: p.problem})
		p.mu.Unlock()
	}
	return all
}

// run serves one link until it ends, in the goroutine that reads it.
func (m *Mesh) run(l *Link) {
	p := l.peer
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
	l.heardAt.Store(m.ran.Load())
	p.link.Store(l)
	p.setProblem(nil)
	if m.closed() { // Close may have missed this link
		l.fail(ErrClosed)
	}
	m.cfg.Log.Info("peer connected", "peer", p.ID, "rank", p.Rank, "incarnation", l.incarnation)
	m.cfg.Handler.Connected(l)
	l.fail(l.read())
	l.writers.Wait()
	p.link.Store(nil)
	p.setProblem(l.why())
	m.cfg.Handler.Disconnected(l, l.why())
	m.Flush()
	m.cfg.Log.Info("peer disconnected", "peer", p.ID, "rank", p.Rank, "cause", l.why())
}

// admit reports whether l is newer than every link so far. The network can delay a connection
// until after a later one of the same process.
func (p *peer) admit(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.incarnation == p.incarnation && l.attempt <= p.attempt {
		return false
	}
	p.incarnation, p.attempt = l.incarnation, l.attempt
	return true
}

func (p *peer) isNewest(l *Link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return l.incarnation == p.incarnation && l.attempt == p.attempt
}

func (p *peer) setProblem(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
}

// beat sends heartbeats, advances the running clock and ends silent links.
func (m *Mesh) beat() {
	ran := runClock{at: m.cfg.Clock.Now()}
	for n := 1; !m.pause(tick); n++ {
		now := ran.advance(m.cfg.Clock.Now())
		m.ran.Store(int64(now))
		for _, p := range m.peers {
			l := p.link.Load()
			if l == nil {
				continue
			}
			if n%beats == 0 {
				l.Send(nil)
				l.Flush()
			}
			if silent := now - time.Duration(l.heardAt.Load()); silent > patience(ran.late) {
				l.fail(fmt.Errorf("nothing heard for %v: %w", silent.Round(time.Millisecond), ErrSilent))
			}
		}
	}
}

// runClock counts the time in which this process ran: between two ticks at most twice the
// usual interval. A process that was stopped or starved did not read, so it must not
// conclude that others were silent.
type runClock struct {
	at   time.Time
	ran  time.Duration
	late time.Duration // the worst lateness of recent ticks
}

func (c *runClock) advance(now time.Time) time.Duration {
	elapsed := max(0, now.Sub(c.at))
	c.ran += min(elapsed, 2*tick)
	// A peak decays by half in about 100 ticks.
	const keep = 0.993
	c.late = max(elapsed-tick, time.Duration(keep*float64(c.late)))
	c.at = now
	return c.ran
}

// pause waits for d. It reports whether the mesh was closed.
func (m *Mesh) pause(d time.Duration) (closed bool) {
	clock.Await(m.cfg.Clock, d, m.done)
	return m.closed()
}
