package link

import (
	"net"
	"sync"
	"sync/atomic"

	"locklab/chaos/toxic"
	"locklab/internal/seed"
	"locklab/internal/signals"
)

// conn is one connection of a link, from the moment at which a program dials.
type conn struct {
	link     *link
	seed     seed.Seed
	client   *net.TCPConn
	server   atomic.Pointer[net.TCPConn] // nil before the node took it
	up, down *chain
	carried  bool // to the node: toxics hit it; of the link's mu

	once sync.Once
	died chan struct{} // closed when the connection was cut
}

func newConn(l *link, s seed.Seed, client *net.TCPConn) *conn {
	c := &conn{link: l, seed: s, client: client, died: make(chan struct{})}
	c.up, c.down = newChain(c, Up), newChain(c, Down)
	c.up.from, c.down.to = client, client
	c.up.back, c.down.back = c.down, c.up
	return c
}

// The names of toxics that are no impairment's: early holds the bytes that a program sends before
// the node took the connection.
const (
	early = "early"
	base  = "base"
)

// run carries the connection from its beginning to its end.
func (c *conn) run() {
	c.up.put(early, new(toxic.Hold), 1)
	var wg sync.WaitGroup
	wg.Go(c.up.read)
	if c.connect() {
		wg.Go(c.up.write)
		wg.Go(c.down.read)
		wg.Go(c.down.write)
	} else {
		c.die(reset)
	}
	wg.Wait() // both ends were passed on, or it is dead
	c.die(func(tcp *net.TCPConn) { _ = tcp.Close() })
	c.link.forget(c)
}

// connect brings the connection to the node: once nothing cuts it off, unless its program has
// given up by then, of which the node must never hear. The handshake takes a round trip.
func (c *conn) connect() bool {
	l := c.link
	for open, changed := l.open(); !open; open, changed = l.open() {
		select {
		case <-changed:
		case <-c.up.ended:
			return false
		}
	}
	if !l.host.timer.Sleep(l.delay(Up)+l.delay(Down), c.died) {
		return false
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	upstream, err := dialer.DialContext(l.ctx, "tcp", l.spec.Upstream)
	if err != nil {
		l.host.config.Log.Debug("node refused the link", "link", l.spec.Name, "error", err)
		return false
	}
	server := upstream.(*net.TCPConn)
	c.server.Store(server)
	if c.isDead() || !l.carry(c) {
		reset(server)
		return false
	}
	c.up.to, c.down.from = server, server
	return true
}

// begin has the base delays and the impairments of now hit the connection. The caller holds the
// link's mu, as those of put, remove and clear do.
func (c *conn) begin(active []Impairment) {
	c.carried = true
	for _, p := range []*chain{c.up, c.down} {
		if d := c.link.spec.base(p.way); d != (Delay{}) {
			p.put(base, &toxic.Latency{Delay: d.Base, Jitter: d.Jitter}, 1)
		}
	}
	for _, i := range active {
		c.put(i)
	}
	c.up.takeOff(early)
}

func (c *conn) each(d Direction, f func(*chain)) {
	for _, p := range []*chain{c.up, c.down} {
		if c.carried && d.has(p.way) {
			f(p)
		}
	}
}

// put puts an impairment on the connection, or changes its settings.
func (c *conn) put(i Impairment) {
	c.each(i.Direction, func(p *chain) { p.put("impairment "+i.ID, toxic.Runs(i.Effect), i.share()) })
}

// clear ends all toxics, of a connection that is over.
func (c *conn) clear() {
	for _, p := range []*chain{c.up, c.down} {
		for _, s := range p.stages {
			s.stop(func() {})
		}
	}
}

// remove takes an impairment off.
func (c *conn) remove(i Impairment) {
	c.each(i.Direction, func(p *chain) { p.takeOff("impairment " + i.ID) })
}

// die ends both sides at once. Bytes under way are lost.
func (c *conn) die(how func(*net.TCPConn)) {
	c.once.Do(func() {
		close(c.died)
		how(c.client)
		if server := c.server.Load(); server != nil {
			how(server)
		}
		c.up.wake()
		c.down.wake()
	})
}

func (c *conn) isDead() bool {
	return signals.Closed(c.died)
}

// reset closes the connection such that the peer gets a RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // without it the peer would get a FIN
	_ = c.Close()
}
