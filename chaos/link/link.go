package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"locklab/chaos/toxic"
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
	ln   *net.TCPListener // nil behind a gate
	addr string
	ctx  context.Context //nolint:containedctx // ends with the link, for dialing
	stop context.CancelFunc
	wg   sync.WaitGroup // the accept loop and the connections that are being set up

	watches watches
	carried counters

	mu      sync.Mutex
	closed  bool
	count   uint64 // connections that were accepted, for their seeds
	begun   uint64 // those that were carried to the node
	active  []Impairment
	waiting map[*net.TCPConn]seed.Seed // accepted and not yet carried
	conns   map[*conn]struct{}
	changed chan struct{} // closed and replaced when active changes
	empty   *sync.Cond    // conns shrank
}

func openLink(h *Host, spec Spec, active []Impairment) (*link, error) {
	l := &link{
		host: h, spec: spec, seed: h.config.Seed.Child("link").Child(spec.Name), addr: spec.Listen,
		active: active, changed: make(chan struct{}),
		waiting: map[*net.TCPConn]seed.Seed{}, conns: map[*conn]struct{}{},
	}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.empty = sync.NewCond(&l.mu)
	for _, i := range active {
		l.watch(i)
	}
	if err := l.listen(); err != nil {
		l.stop()
		return nil, fmt.Errorf("open link %q: %w", spec.Name, err)
	}
	return l, nil
}

// listen lets the programs of this host in.
func (l *link) listen() error {
	if l.spec.Listen != "" {
		return l.host.config.Gates.enter(l)
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	l.ln, l.addr = ln.(*net.TCPListener), ln.Addr().String()
	l.wg.Go(func() { accept(l.ln, l.host.config.Log, l.take) })
	return nil
}

// accept has take have every connection until the listener is closed.
func accept(ln *net.TCPListener, log *slog.Logger, take func(*net.TCPConn)) {
	for {
		switch c, err := ln.AcceptTCP(); {
		case err == nil:
			take(c)
		case errors.Is(err, net.ErrClosed):
			return
		default: // out of file descriptors, most likely: let some go
			log.Warn("link cannot accept", "address", ln.Addr(), "error", err)
			_ = clock.Sleep(context.Background(), 10*time.Millisecond) // it ends soon enough
		}
	}
}

// take carries a new connection, unless the link resets it.
func (l *link) take(c *net.TCPConn) {
	own, ok := l.admit(c)
	if !ok {
		reset(c)
		return
	}
	go func() {
		defer l.wg.Done()
		l.carry(c, own)
	}()
}

// admit enters c as waiting, with a seed of its own, unless the link resets it.
func (l *link) admit(c *net.TCPConn) (own seed.Seed, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	own = l.seed.Child(fmt.Sprint(l.count))
	if l.closed || l.resets(own) || len(l.waiting)+len(l.conns) >= maxConns {
		return own, false
	}
	l.waiting[c] = own
	l.wg.Add(1)
	return own, true
}

func (l *link) resets(own seed.Seed) bool {
	return slices.ContainsFunc(l.active, func(i Impairment) bool { return i.resets() && i.hitsConnection(own) })
}

// carry brings a new connection to the node and lets the bytes flow.
func (l *link) carry(client *net.TCPConn, own seed.Seed) {
	given := l.setUp(client, own)
	if !given {
		l.mu.Lock()
		delete(l.waiting, client)
		l.mu.Unlock()
		reset(client)
	}
}

// setUp reports whether the connection is carried now.
func (l *link) setUp(client *net.TCPConn, own seed.Seed) bool {
	_ = client.SetNoDelay(true) // Go's default; the lab depends on it
	head, ok := l.awaitOpen(client, own)
	if !ok {
		return false
	}
	// The handshake takes a round trip.
	if !l.sleep(l.delay(Up, own)+l.delay(Down, own), l.ctx.Done()) {
		return false
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	upstream, err := dialer.DialContext(l.ctx, "tcp", l.spec.Upstream)
	if err != nil {
		l.host.config.Log.Debug("node refused the link", "link", l.spec.Name, "error", err)
		return false
	}
	server := upstream.(*net.TCPConn)
	_ = server.SetNoDelay(true)
	if err := l.hand(client, server, own, head); err != nil {
		l.host.config.Log.Debug("link reset a new connection", "link", l.spec.Name, "reason", err)
		reset(server)
		return false
	}
	return true
}

var errResetNow = errors.New("the link resets connections")

// hand makes a carried connection of a waiting one, with the impairments of now.
func (l *link) hand(client, server *net.TCPConn, own seed.Seed, head []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.waiting[client]; !ok || l.closed || l.resets(own) {
		return errResetNow
	}
	c := newConn(l, own, client, server, head)
	for _, i := range l.active {
		if !i.resets() {
			c.put(i)
		}
	}
	delete(l.waiting, client)
	l.conns[c] = struct{}{}
	l.begun++
	c.start()
	return nil
}

// apply puts the impairment on all connections, and on those to come. One that is there
// already gets these settings.
func (l *link) apply(i Impairment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = append(l.without(i.ID), i)
	l.announce()
	if i.resets() {
		l.resetAll(i.hitsConnection)
	} else {
		for c := range l.conns {
			c.put(i)
		}
	}
	l.watch(i)
}

// heal takes the impairment off again, and says what contradicted that it was there.
func (l *link) heal(i Impairment) (contradicted string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	contradicted = l.unwatch(i.ID)
	l.active = l.without(i.ID)
	if !i.resets() {
		for c := range l.conns {
			c.remove(i)
		}
	}
	l.announce()
	return contradicted
}

// without are the other impairments. The caller holds mu.
func (l *link) without(id string) []Impairment {
	return slices.DeleteFunc(slices.Clone(l.active), func(j Impairment) bool { return j.ID == id })
}

// resetAll ends the connections that are hit with a RST. The caller holds mu.
func (l *link) resetAll(hit func(seed.Seed) bool) {
	for c, own := range l.waiting {
		if hit(own) {
			reset(c)
			delete(l.waiting, c)
		}
	}
	for c := range l.conns {
		if hit(c.seed) {
			c.kill()
		}
	}
}

// announce wakes the connections that wait for a heal. The caller holds mu.
func (l *link) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// open says whether a new connection gets through, and what will change that.
func (l *link) open(own seed.Seed) (yes bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.active {
		if (i.blocks(Up) || i.blocks(Down)) && i.hitsConnection(own) {
			return false, l.changed
		}
	}
	return true, l.changed
}

// delay is the one-way delay in force for a connection, without jitter.
func (l *link) delay(way Direction, own seed.Seed) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	delay := l.spec.Up.Base
	if way == Down {
		delay = l.spec.Down.Base
	}
	for _, i := range l.active {
		if i.hitsConnection(own) {
			delay += i.delay(way)
		}
	}
	return delay
}

// sleep is false if stop was closed first.
func (l *link) sleep(d time.Duration, stop <-chan struct{}) bool {
	return toxic.SleepUntil(clock.Mono()+int64(d), stop)
}

func (l *link) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
	l.empty.Broadcast()
}

// close resets all connections and returns when nothing of the link runs.
func (l *link) close() {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.closed = true
	l.stop()
	if l.ln != nil {
		_ = l.ln.Close() // a listener that is closed twice says so: of no use here
	}
	l.resetAll(func(seed.Seed) bool { return true })
	l.active = nil
	l.announce()
	for len(l.conns) > 0 {
		l.empty.Wait()
	}
	l.mu.Unlock()
	l.host.config.Gates.leave(l)
	l.wg.Wait()
}
