package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/redlock"
)

// Replicated says where a primary with replicas is found, which Sentinels watch.
type Replicated struct {
	// Sentinels are their addresses, host:port.
	Sentinels []string
	// Service is the name by which they know the primary.
	Service string
	// Reach says where to dial the server that Sentinels call addr; nil if it is there.
	Reach func(addr string) string
}

// validate says what is wrong. The error wraps locks.ErrInvalid.
func (r Replicated) validate() error {
	if len(r.Sentinels) == 0 || r.Service == "" {
		return fmt.Errorf("replica: %d Sentinels, service %q: want the addresses of Sentinels and the name that they know the primary by: %w",
			len(r.Sentinels), r.Service, locks.ErrInvalid)
	}
	return nil
}

// askEvery is the pause between two questions to a Sentinel.
const askEvery = 100 * time.Millisecond

// primary knows which server the primary is. It asks all Sentinels all the time, and
// believes the one that knows of the latest promotion: one that is cut off from the others
// still names the server that was the primary when it was. When another server becomes the
// primary, connections to the last one are closed, also if it answers.
type primary struct {
	config  Replicated
	timeout time.Duration
	clock   clock.Clock
	log     *slog.Logger

	stop    context.CancelFunc
	asking  sync.WaitGroup
	clients []*redis.Client

	mu    sync.Mutex
	told  map[string]view // by Sentinel; without those that do not answer
	now   view
	conns map[*primaryConn]struct{}
}

// view is what a Sentinel says.
type view struct {
	addr  string
	epoch uint64 // of the promotion: it grows with each
}

// primaryConn is a connection to the server that was the primary when it was made.
type primaryConn struct {
	*net.TCPConn
	of *primary
}

func (c *primaryConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.TCPConn.Close()
}

// findPrimary begins to ask. close ends it.
func findPrimary(config Replicated, engine redlock.Config) *primary {
	ctx, stop := context.WithCancel(context.Background())
	p := &primary{
		config: config, timeout: engine.Options.Timeout, clock: engine.Clock, log: engine.Log, stop: stop,
		told: map[string]view{}, conns: map[*primaryConn]struct{}{},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	engine.Dial = nil
	for _, addr := range config.Sentinels {
		client := engine.Pool(addr)
		p.clients = append(p.clients, client)
		p.asking.Go(func() { p.ask(ctx, addr, client) })
	}
	return p
}

// ask asks one Sentinel until ctx ends.
func (p *primary) ask(ctx context.Context, sentinel string, client *redis.Client) {
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, p.timeout)
		v, err := p.view(limited, client)
		cancel()
		p.hear(sentinel, v, err)
		clock.Await(p.clock, askEvery, ctx.Done())
	}
}

func (p *primary) view(ctx context.Context, client *redis.Client) (view, error) {
	master := redis.NewMapStringStringCmd(ctx, "sentinel", "master", p.config.Service)
	if err := client.Process(ctx, master); err != nil {
		return view{}, err
	}
	said := master.Val()
	epoch, err := strconv.ParseUint(said["config-epoch"], 10, 64)
	if err != nil || said["ip"] == "" || said["port"] == "" {
		return view{}, fmt.Errorf("want ip, port and config-epoch of %s, got %q", p.config.Service, said)
	}
	return view{net.JoinHostPort(said["ip"], said["port"]), epoch}, nil
}

// hear takes what a Sentinel says, or that it says nothing.
func (p *primary) hear(sentinel string, v view, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		delete(p.told, sentinel)
		return
	}
	p.told[sentinel] = v
	best := v
	for _, other := range p.told {
		if other.epoch > best.epoch {
			best = other
		}
	}
	if best.epoch < p.now.epoch {
		return // who knew of the last promotion is silent: an older primary is none
	}
	if best.addr == p.now.addr {
		p.now = best
		return
	}
	if p.now.addr != "" {
		p.log.Info("another redis server is the primary", "was", p.now.addr, "is", best.addr, "epoch", best.epoch)
	}
	p.now = best
	for c := range p.conns { // whose users dial again
		_ = c.TCPConn.Close()
		delete(p.conns, c)
	}
}

var errNoPrimary = errors.New("no Sentinel has named a primary yet")

// dial connects to the primary of now, whatever the address.
func (p *primary) dial(ctx context.Context, _ string, timeout time.Duration) (net.Conn, error) {
	p.mu.Lock()
	asked := p.now
	p.mu.Unlock()
	if asked.addr == "" {
		return nil, errNoPrimary
	}
	at := asked.addr
	if p.config.Reach != nil {
		at = p.config.Reach(at)
	}
	dialer := net.Dialer{Timeout: timeout}
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	c := &primaryConn{conn.(*net.TCPConn), p} //nolint:forcetypeassert // it is one of TCP
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.addr != asked.addr { // meanwhile
		_ = conn.Close()
		return nil, fmt.Errorf("dial %s: it is the primary no longer", asked.addr)
	}
	p.conns[c] = struct{}{}
	return c, nil
}

// close ends the questions. The connections are their users' to close.
func (p *primary) close() (err error) {
	p.stop()
	for _, c := range p.clients {
		if closed := c.Close(); !errors.Is(closed, redis.ErrClosed) {
			err = errors.Join(err, closed)
		}
	}
	p.asking.Wait()
	return err
}
