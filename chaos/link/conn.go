package link

import (
	"net"
	"sync"
	"sync/atomic"

	"locklab/internal/nowait"
	"locklab/internal/seed"
	"locklab/internal/signals"
)

// conn is one connection that a link carries.
type conn struct {
	link           *link
	seed           seed.Seed
	client, server *net.TCPConn
	up, down       *pipe

	change sync.Mutex // held while toxics are added, changed or removed
	done   bool       // both directions are over: there is nothing to change

	running atomic.Int32 // goroutines of its directions
	once    sync.Once
	died    chan struct{} // closed when the connection was cut
}

func newConn(l *link, s seed.Seed, client, server *net.TCPConn, head []byte) *conn {
	c := &conn{link: l, seed: s, client: client, server: server, died: make(chan struct{})}
	c.running.Store(2)
	nearer, farther := nowait.New(client), nowait.New(server)
	c.up = newPipe(c, Up, l.spec.Up, nearer, server, farther, head)
	c.down = newPipe(c, Down, l.spec.Down, farther, client, nearer, nil)
	return c
}

// start lets the bytes flow.
func (c *conn) start() {
	go c.up.run()
	go c.down.run()
}

func (c *conn) pipe(way Direction) *pipe {
	if way == Up {
		return c.up
	}
	return c.down
}

// other is the opposite direction.
func (c *conn) other(p *pipe) *pipe {
	if p == c.up {
		return c.down
	}
	return c.up
}

// put puts an impairment on the connection, live or not yet started, or changes its settings.
func (c *conn) put(i Impairment) {
	c.change.Lock()
	defer c.change.Unlock()
	for _, way := range i.Direction.ways() {
		if !c.done {
			c.pipe(way).put(i)
		}
	}
}

// remove takes an impairment off. A connection that lost bytes is reset.
func (c *conn) remove(i Impairment) {
	c.change.Lock()
	defer c.change.Unlock()
	for _, way := range i.Direction.ways() {
		c.pipe(way).takeOff(i.ID)
	}
}

// kill resets both sides at once.
func (c *conn) kill() {
	c.end(reset)
}

// hangUp closes both sides at once.
func (c *conn) hangUp() {
	c.end(func(tcp *net.TCPConn) { _ = tcp.Close() }) // of no use any more
}

// end throws away what is under way.
func (c *conn) end(how func(*net.TCPConn)) {
	c.once.Do(func() {
		close(c.died)
		how(c.client)
		how(c.server)
		c.up.die()
		c.down.die()
	})
}

func (c *conn) isDead() bool {
	return signals.Closed(c.died)
}

// ended is called once per goroutine. The last one takes the connection down: its toxics are
// of no use any more.
func (c *conn) ended() {
	if c.running.Add(-1) > 0 {
		return
	}
	c.change.Lock()
	c.done = true
	c.up.clear()
	c.down.clear()
	c.change.Unlock()
	_ = c.client.Close() // both ends were passed on: nothing is left to say
	_ = c.server.Close()
	c.link.forget(c)
}

// reset closes the connection such that the peer gets a RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // without it the peer would get a FIN
	_ = c.Close()
}
