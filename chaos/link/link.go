package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// carry has the impairments of now hit a connection that the node took, unless it is to be reset.
func (l *link) carry(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.resets() {
		return false
	}
	c.begin(l.active)
	return true
}

// apply puts the impairment on all connections, and on those to come. One that is there
// already gets these settings.
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

// heal takes the impairment off again, and says what contradicted that it was there.
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

// without are the other impairments. The caller holds mu.
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
	delay := l.spec.base(way).Base
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
