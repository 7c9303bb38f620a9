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
	count   uint64 // connections so far, for their seeds
	active  []Impairment
	waiting map[*net.TCPConn]struct{} // accepted and not yet carried
	conns   map[*conn]struct{}
	changed chan struct{} // closed and replaced when active changes
	empty   *sync.Cond    // conns shrank
}

func openLink(h *Host, spec Spec, active []Impairment) (*link, error) {
	l := &link{
		host: h, spec: spec, seed: h.config.Seed.Child("link").Child(spec.Name), addr: spec.Listen,
		active: active, changed: make(chan struct{}),
		waiting: map[*net.TCPConn]struct{}{}, conns: map[*conn]struct{}{},
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
	if !l.admit(c) {
		reset(c)
		return
	}
	go func() {
		defer l.wg.Done()
		l.carry(c)
	}()
}

// admit enters c as waiting unless the link resets new connections.
func (l *link) admit(c *net.TCPConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.resets() || len(l.waiting)+len(l.conns) >= maxConns {
		return false
	}
	l.waiting[c] = struct{}{}
	l.wg.Add(1)
	return true
}

func (l *link) resets() bool {
	return slices.ContainsFunc(l.active, Impairment.resets)
}

// carry brings a new connection to the node and lets the bytes flow.
func (l *link) carry(client *net.TCPConn) {
	given := l.setUp(client)
	if !given {
		l.mu.Lock()
		delete(l.waiting, client)
		l.mu.Unlock()
		reset(client)
	}
}

// setUp reports whether the connection is carried now.
func (l *link) setUp(client *net.TCPConn) bool {
	_ = client.SetNoDelay(true) // Go's default; the lab depends on it
	head, ok := l.awaitOpen(client)
	if !ok {
		return false
	}
	// The handshake takes a round trip.
	if !l.sleep(l.delay(Up)+l.delay(Down), l.ctx.Done()) {
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
	if err := l.hand(client, server, head); err != nil {
		l.host.config.Log.Debug("link reset a new connection", "link", l.spec.Name, "reason", err)
		reset(server)
		return false
	}
	return true
}

var errResetNow = errors.New("the link resets connections")

// hand makes a carried connection of a waiting one, with the impairments of now.
func (l *link) hand(client, server *net.TCPConn, head []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.waiting[client]; !ok || l.closed || l.resets() {
		return errResetNow
	}
	l.count++
	c := newConn(l, l.seed.Child(fmt.Sprint(l.count)), client, server, head)
	for _, i := range l.active {
		if err := c.add(i); err != nil {
			return err
		}
	}
	delete(l.waiting, client)
	l.conns[c] = struct{}{}
	c.start()
	return nil
}

// apply puts the impairment on all connections, and on those to come.
func (l *link) apply(i Impairment) (failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = append(l.active, i)
	l.announce()
	if i.resets() {
		l.resetAll()
	} else {
		for c := range l.conns {
			failed = errors.Join(failed, c.add(i))
		}
	}
	l.watch(i)
	return failed
}

// heal takes the impairment off again, and says what contradicted that it was there.
func (l *link) heal(i Impairment) (contradicted string, failed error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	contradicted = l.unwatch(i.ID)
	l.active = slices.DeleteFunc(slices.Clone(l.active), func(j Impairment) bool { return i.ID == j.ID })
	if !i.resets() {
		for c := range l.conns {
			failed = errors.Join(failed, c.remove(i))
		}
	}
	l.announce()
	return contradicted, failed
}

// resetAll ends every connection with a RST. The caller holds mu.
func (l *link) resetAll() {
	for c := range l.waiting {
		reset(c)
		delete(l.waiting, c)
	}
	for c := range l.conns {
		c.kill()
	}
}

// announce wakes the connections that wait for a heal. The caller holds mu.
func (l *link) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// open says whether new connections get through, and what will change that.
func (l *link) open() (yes bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.active {
		if i.blocks(Up) || i.blocks(Down) {
			return false, l.changed
		}
	}
	return true, l.changed
}

// delay is the one-way delay in force, without jitter.
func (l *link) delay(way Direction) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	delay := l.spec.Up.Base
	if way == Down {
		delay = l.spec.Down.Base
	}
	for _, i := range l.active {
		delay += i.delay(way)
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
	l.resetAll()
	for c := range l.conns { // what is held runs out, into the sinks of the dead
		c.drain()
	}
	l.active = nil
	l.announce()
	for len(l.conns) > 0 {
		l.empty.Wait()
	}
	l.mu.Unlock()
	l.host.config.Gates.leave(l)
	l.wg.Wait()
}
