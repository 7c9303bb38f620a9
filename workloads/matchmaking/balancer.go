package matchmaking

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"locklab/locks/clock"
)

// downFor is how long a master that refused gets no players, as long as another
// master is up.
const downFor = 200 * time.Millisecond

// maxIdle bounds the idle connections that are kept to one master.
const maxIdle = 512

// balancer sends players to masters in turn and leaves out those that are down.
type balancer struct {
	masters []*master
	turn    atomic.Uint64
}

func newBalancer(masters []Master) *balancer {
	b := &balancer{}
	for _, m := range masters {
		u, _ := url.Parse(m.URL) // validated by Options
		b.masters = append(b.masters, &master{Name: m.Name, addr: u.Host, busy: map[*conn]struct{}{}})
	}
	return b
}

// next is the master whose turn it is. With all of them down it is the next one
// all the same: one that has just come back should not wait for its 200 ms.
func (b *balancer) next(now int64) *master {
	n := uint64(len(b.masters))
	turn := b.turn.Add(1) - 1
	for i := range n {
		if m := b.masters[(turn+i)%n]; m.downUntil.Load() <= now {
			return m
		}
	}
	return b.masters[turn%n]
}

// interrupt makes every request in flight fail now.
func (b *balancer) interrupt() {
	for _, m := range b.masters {
		m.mu.Lock()
		m.interrupted = true
		for c := range m.busy {
			_ = c.SetDeadline(past())
		}
		m.mu.Unlock()
	}
}

func (b *balancer) close() {
	for _, m := range b.masters {
		m.mu.Lock()
		m.interrupted = true
		for _, c := range m.idle {
			_ = c.Close()
		}
		m.idle = nil
		m.mu.Unlock()
	}
}

// master is one server with its pool of connections: the one used last is used
// next, so that the pool is as small as the load allows.
type master struct {
	Name string
	addr string

	downUntil atomic.Int64 // on clock.Mono

	mu          sync.Mutex
	idle        []*conn
	busy        map[*conn]struct{}
	interrupted bool
}

func (m *master) down(now int64) { m.downUntil.Store(now + int64(downFor)) }

// take returns an idle connection, nil if there is none.
func (m *master) take() *conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.idle) - 1
	if last < 0 {
		return nil
	}
	c := m.idle[last]
	m.idle = m.idle[:last]
	m.use(c)
	return c
}

// adopt takes a new connection into use.
func (m *master) adopt(nc net.Conn) *conn {
	c := newConn(nc)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.use(c)
	return c
}

func (m *master) use(c *conn) {
	m.busy[c] = struct{}{}
	if m.interrupted {
		_ = c.SetDeadline(past())
	}
}

// arm sets the deadline of a connection in use, unless everything was interrupted.
func (m *master) arm(c *conn, deadline time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.interrupted {
		_ = c.SetDeadline(deadline)
	}
}

func (m *master) put(c *conn, reusable bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, c)
	if reusable && !m.interrupted && len(m.idle) < maxIdle {
		m.idle = append(m.idle, c)
		return
	}
	_ = c.Close()
}

func past() time.Time { return clock.System().Now().Add(-time.Hour) }
