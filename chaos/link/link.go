package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"

	"locklab/internal/seed"
	"locklab/locks/clock"
)

const (
	// maxConns bounds the connections of one link; more are reset.
	maxConns = 2048
	// dialTimeout bounds connecting to the node.
	dialTimeout = 3 * time.Second
)

// link accepts the connections of one Spec and carries them.
type link struct {
	host *Host
	spec Spec
	seed seed.Seed
	gate *gate
	ctx  context.Context //nolint:containedctx // ends with the link, for dialing
	stop context.CancelFunc
	wg   sync.WaitGroup // connections

	watches atomic.Pointer[[]*watch] // read for every chunk, so without a lock
	carried counters

	mu      sync.Mutex
	closed  bool
	count   uint64 // connections that were accepted
	active  []Impairment
	conns   map[*conn]struct{}
	changed chan struct{} // closed and replaced when an impairment was healed
}

func openLink(h *Host, spec Spec, active []Impairment) (l *link, err error) {
	l = &link{
		host: h, spec: spec, seed: h.config.Seed.Child("link").Child(spec.Name),
		active: active, changed: make(chan struct{}), conns: map[*conn]struct{}{},
	}
	l.watches.Store(new([]*watch))
	l.ctx, l.stop = context.WithCancel(context.Background())
	for _, i := range active {
		l.watch(i)
	}
	if l.gate, err = h.config.Gates.enter(l); err != nil {
		l.stop()
		return nil, fmt.Errorf("open link %q: %w", spec.Name, err)
	}
	return l, nil
}

// accept passes each connection to take until the listener is closed.
func accept(ln *net.TCPListener, log *slog.Logger, take func(*net.TCPConn)) {
	for {
		switch c, err := ln.AcceptTCP(); {
		case err == nil:
			take(c)
		case errors.Is(err, net.ErrClosed):
			return
		default: // most likely out of file descriptors: wait for some
			log.Warn("link cannot accept", "address", ln.Addr(), "error", err)
			_ = clock.Sleep(context.Background(), 10*time.Millisecond) // too short to need a context
		}
	}
}

// take carries a new connection, unless the link resets it.
func (l *link) take(client *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	c := newConn(l, l.seed.Child(fmt.Sprint(l.count)), client)
	if l.resets() || len(l.conns) >= maxConns {
		reset(client)
		return
	}
	l.conns[c] = struct{}{}
	l.wg.Go(c.run)
}

// resets says whether connections are reset. The caller holds mu.
func (l *link) resets() bool {
	return l.closed || slices.ContainsFunc(l.active, Impairment.resets)
}

// carry puts the impairments in force on a connection that the node accepted; false means that it is to be reset.
func (l *link) carry(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resets() {
		return false
	}
	c.begin(l.active)
	return true
}

// apply puts the impairment on all connections, also future ones, or changes its settings where it is there
// already.
func (l *link) apply(i Impairment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = append(l.without(i.ID), i)
	for c := range l.conns {
		if i.resets() {
			c.die(reset)
		} else {
			c.put(i)
		}
	}
	l.watch(i)
}

// heal takes the impairment off, and returns what contradicted it.
func (l *link) heal(i Impairment) (contradicted string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	contradicted = l.unwatch(i.ID)
	l.active = l.without(i.ID)
	for c := range l.conns {
		c.remove(i)
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return contradicted
}

// without returns the active impairments but one. The caller holds mu.
func (l *link) without(id string) []Impairment {
	return slices.DeleteFunc(slices.Clone(l.active), func(j Impairment) bool { return j.ID == id })
}

// open says whether a new connection gets through; changed is closed at the next heal.
func (l *link) open() (yes bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.active, Impairment.blocks), l.changed
}

// delay is the one-way delay in force, without jitter.
func (l *link) delay(way Direction) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	delay := l.spec.base(way).Delay
	for _, i := range l.active {
		delay += i.delay(way)
	}
	return delay
}

func (l *link) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	c.clear()
}

// close resets all connections and returns when nothing of the link runs.
func (l *link) close() {
	l.gate.leave(l)
	l.mu.Lock()
	l.closed = true
	l.stop()
	for c := range l.conns {
		c.die(reset)
	}
	l.mu.Unlock()
	l.wg.Wait()
}

// Gates are addresses that several links share: programs that pass addresses on to each other, as Redis and
// Sentinel do, must all know a node by one address, whatever link leads there from their host. The source address
// of a connection tells which link it belongs to:
//
//	node s1, from 127.9.4.3 --+                   +--> link of host s1 --> r1
//	                          +--> 127.9.4.1:21000 +
//	node s2, from 127.9.4.4 --+    the gate of r1 +--> link of host s2 --> r1
//
// Hosts of one process share their Gates. A host that is alone on its machine, as in a container, shares no
// address: the only link behind a gate takes every connection. A link without a Listen address has a gate of its
// own.
type Gates struct {
	mu   sync.Mutex
	open map[string]*gate // by address
}

// NewGates returns gates of which none is open yet.
func NewGates() *Gates { return &Gates{open: map[string]*gate{}} }

// gate is one address and the links behind it.
type gate struct {
	gates *Gates
	ln    *net.TCPListener
	addr  string
	links map[string]*link // by source; guarded by gates.mu
	done  chan struct{}    // closed when nothing is accepted any more
}

// enter puts the link behind the gate at its Listen address.
func (g *Gates) enter(l *link) (*gate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.open[l.spec.Listen]
	if at == nil {
		ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", cmp.Or(l.spec.Listen, "127.0.0.1:0"))
		if err != nil {
			return nil, err
		}
		at = &gate{gates: g, ln: ln.(*net.TCPListener), links: map[string]*link{}, done: make(chan struct{})}
		at.addr = ln.Addr().String()
		g.open[at.addr] = at
		go func() {
			defer close(at.done)
			accept(at.ln, l.host.config.Log, at.take)
		}()
	}
	if other := at.links[l.spec.Source]; other != nil {
		return nil, fmt.Errorf("%s is taken for connections from %q by link %q: %w",
			at.addr, l.spec.Source, other.spec.Name, ErrInvalid)
	}
	at.links[l.spec.Source] = l
	return at, nil
}

// leave removes the link, and closes the gate with the last one.
func (at *gate) leave(l *link) {
	at.gates.mu.Lock()
	delete(at.links, l.spec.Source)
	last := len(at.links) == 0
	if last {
		delete(at.gates.open, at.addr)
		_ = at.ln.Close() // it was open
	}
	at.gates.mu.Unlock()
	if last {
		<-at.done
	}
}

func (at *gate) take(c *net.TCPConn) {
	if l := at.linkFor(c); l != nil {
		l.take(c)
	} else {
		reset(c)
	}
}

// linkFor is nil if no link has the connection's source address.
func (at *gate) linkFor(c *net.TCPConn) *link {
	at.gates.mu.Lock()
	defer at.gates.mu.Unlock()
	if len(at.links) == 1 {
		for _, only := range at.links {
			return only
		}
	}
	return at.links[c.RemoteAddr().(*net.TCPAddr).IP.String()]
}

// watch checks the bytes that arrive at one link while an impairment is in force there: none may leave too soon.
type watch struct {
	Impairment
	since time.Time
	wrong atomic.Pointer[string] // the first contradiction
}

// early says why these bytes, which left after took, contradict the impairment, "" if they do not. Jitter, flaky
// and delays below the margin are never contradicted: only probes prove them.
func (w *watch) early(bytes int, took time.Duration) string {
	if Cuts(w.Effect) {
		return "while the link was to be cut"
	}
	least := Least(w.Effect, int64(bytes))
	if took < least-max(least/4, 200*time.Microsecond) { // half of the toxics' wake-ups are early
		return fmt.Sprintf("after %v, sooner than with the %s that was to be there", took, kindOf(w.Effect))
	}
	return ""
}

// passed counts a chunk that came out of the toxics, and checks it against the watches.
func (l *link) passed(way Direction, chunk *stream.StreamChunk) {
	bytes := len(chunk.Data)
	l.carried.of(way).Add(int64(bytes))
	for _, w := range *l.watches.Load() {
		if !w.Direction.has(way) || chunk.Timestamp.Before(w.since) || w.wrong.Load() != nil {
			continue
		}
		if wrong := w.early(bytes, clock.System().Now().Sub(chunk.Timestamp)); wrong != "" {
			from, to := "host "+l.host.config.Host, l.spec.ToNode
			if way == Down {
				from, to = to, from
			}
			wrong = fmt.Sprintf("%d bytes passed from %s to %s %s", bytes, from, to, wrong)
			w.wrong.Store(&wrong)
		}
	}
}

// watch begins to watch the link for an impairment. Probe links and impairments by hand need no watch. The caller
// holds mu.
func (l *link) watch(i Impairment) {
	if i.byHand() || l.spec.isProbe() {
		return
	}
	all := append(slices.Clone(*l.watches.Load()), &watch{Impairment: i, since: clock.System().Now()})
	l.watches.Store(&all)
}

// unwatch ends the watch, and returns what contradicted the impairment.
func (l *link) unwatch(id string) (contradicted string) {
	all := slices.DeleteFunc(slices.Clone(*l.watches.Load()), func(w *watch) bool {
		if wrong := w.wrong.Load(); w.ID == id && wrong != nil {
			contradicted = *wrong
		}
		return w.ID == id
	})
	l.watches.Store(&all)
	return contradicted
}
