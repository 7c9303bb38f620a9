package link

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/go-json-experiment/json"

	"locklab/chaos/toxic"
	"locklab/internal/nowait"
	"locklab/internal/seed"
	"locklab/internal/signals"
)

// conn is one connection that a link carries.
type conn struct {
	link           *link
	seed           seed.Seed
	client, server *net.TCPConn
	toxics         *toxiproxy.ToxicCollection
	up, down       *pipe

	// change is held for writing while toxics are added or removed and for reading
	// while a direction is taken down: toxiproxy loses count of its stages when the
	// two meet.
	change sync.RWMutex

	running atomic.Int32 // directions that have not ended
	once    sync.Once
	died    chan struct{} // closed when the connection was reset
}

func newConn(l *link, s seed.Seed, client, server *net.TCPConn, head []byte) *conn {
	c := &conn{link: l, seed: s, client: client, server: server, died: make(chan struct{})}
	c.running.Store(2)
	nearer, farther := nowait.New(client), nowait.New(server)
	c.up = newPipe(c, Up, l.spec.Up, nearer, server, farther, head)
	c.down = newPipe(c, Down, l.spec.Down, farther, client, nearer, nil)
	c.toxics = toxiproxy.NewProxy(l.host.api, l.spec.Name, l.addr, l.spec.Upstream).Toxics
	return c
}

// start lets the bytes flow.
func (c *conn) start() {
	c.toxics.StartLink(c.link.host.api, string(Up), source{c.up}, sink{c.up}, stream.Upstream)
	c.toxics.StartLink(c.link.host.api, string(Down), source{c.down}, sink{c.down}, stream.Downstream)
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

// add puts an impairment on the connection, live or not yet started.
func (c *conn) add(i Impairment) error {
	c.change.Lock()
	defer c.change.Unlock()
	for _, way := range i.Direction.ways() {
		if i.blocks(way) {
			c.pipe(way).block(1)
		}
	}
	for _, s := range i.stages(c.seed) {
		if err := c.addStage(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) addStage(s stage) error {
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode toxic %q: %w", s.Name, err)
	}
	p := c.pipe(s.way)
	p.divert(1)
	wrapper, err := c.toxics.AddToxicJson(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("add toxic %q: %w", s.Name, err)
	}
	if drop, ok := wrapper.Toxic.(*toxic.Drop); ok {
		drop.Notify(p.swallowed)
	}
	return nil
}

// remove takes an impairment off. A connection that lost bytes is reset.
func (c *conn) remove(i Impairment) error {
	c.change.Lock()
	defer c.change.Unlock()
	var failed error
	for _, s := range i.stages(c.seed) {
		if err := c.toxics.RemoveToxic(context.Background(), s.Name); err != nil && failed == nil {
			failed = fmt.Errorf("remove toxic %q: %w", s.Name, err)
		}
		c.pipe(s.way).divert(-1)
	}
	if _, drops := i.Effect.(*toxic.Drop); drops && (c.up.hasHole() || c.down.hasHole()) {
		c.kill()
	}
	for _, way := range i.Direction.ways() {
		if i.blocks(way) {
			c.pipe(way).block(-1)
		}
	}
	return failed
}

// kill resets both sides at once. What is in the toxics runs through them and is thrown
// away at the sinks.
func (c *conn) kill() {
	c.once.Do(func() {
		close(c.died)
		reset(c.client)
		reset(c.server)
		c.up.die()
		c.down.die()
	})
}

// drain takes all toxics off a dead connection.
func (c *conn) drain() {
	c.change.Lock()
	defer c.change.Unlock()
	c.toxics.ResetToxics(context.Background())
}

func (c *conn) isDead() bool {
	return signals.Closed(c.died)
}

// ended is called once per direction, when its end has been passed on.
func (c *conn) ended() {
	if c.running.Add(-1) > 0 {
		return
	}
	_ = c.client.Close() // both ends were passed on: nothing is left to say
	_ = c.server.Close()
	c.link.forget(c)
}

// reset closes the connection such that the peer gets a RST.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0) // without it the peer would get a FIN
	_ = c.Close()
}
