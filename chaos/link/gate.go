package link

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"sync"
)

// Gates are the addresses that several links share: programs that pass addresses on to each
// other, as Redis and Sentinel do, must all know a node by one address, whatever link leads
// there from their host. Whose a connection is, is told by the address that it comes from:
//
//	node s1, from 127.9.4.3 --+                   +--> link of host s1 --> r1
//	                          +--> 127.9.4.1:21000 +
//	node s2, from 127.9.4.4 --+    the gate of r1 +--> link of host s2 --> r1
//
// Hosts of one process share their Gates. A host that is alone on its machine, as in a
// container, has the same addresses to itself: where only one link is behind a gate, it
// takes every connection. A link that asks for no address has a gate of its own.
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

// enter puts the link behind the gate at the address that it asks for.
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

// leave takes the link away, and closes the gate behind the last.
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

// linkFor is nil for a stranger.
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
