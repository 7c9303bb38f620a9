package redis

import (
	"context"
	"errors"
	"fmt"
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
		return fmt.Errorf("replica: %d Sentinels, service %q: "+
			"want the addresses of Sentinels and the name that they know the primary by: %w",
			len(r.Sentinels), r.Service, locks.ErrInvalid)
	}
	return nil
}

// askEvery is the pause between two questions to a Sentinel.
const askEvery = 100 * time.Millisecond

// primary knows which server the primary is. It asks all Sentinels all the time, and
// believes the one that knows of the latest promotion: one that is cut off from the others
// still names the server that was the primary when it was.
type primary struct {
	Config
	stop   context.CancelFunc
	asking sync.WaitGroup

	mu  sync.Mutex
	now view
}

// view is what a Sentinel says.
type view struct {
	addr  string
	epoch uint64 // of the promotion: it grows with each
}

// findPrimary begins to ask. close ends it.
func findPrimary(cfg Config, engine redlock.Config) *primary {
	ctx, stop := context.WithCancel(context.Background())
	p := &primary{Config: cfg, stop: stop}
	for _, addr := range cfg.Replicated.Sentinels {
		p.asking.Go(func() { p.ask(ctx, engine.Client(addr)) })
	}
	return p
}

// ask asks one Sentinel until ctx ends.
func (p *primary) ask(ctx context.Context, client *redis.Client) {
	defer func() { _ = client.Close() }() // it was only read from
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, p.Options.Timeout)
		master := redis.NewMapStringStringCmd(limited, "sentinel", "master", p.Replicated.Service)
		_ = client.Process(limited, master) // a Sentinel that says nothing is asked again
		cancel()
		said := master.Val()
		if epoch, err := strconv.ParseUint(said["config-epoch"], 10, 64); err == nil {
			p.hear(view{net.JoinHostPort(said["ip"], said["port"]), epoch})
		}
		clock.Await(p.Clock, askEvery, ctx.Done())
	}
}

// hear takes what a Sentinel says.
func (p *primary) hear(v view) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v.epoch < p.now.epoch || v == p.now {
		return
	}
	if p.now.addr != "" && p.now.addr != v.addr {
		p.Log.Info("another redis server is the primary", "was", p.now.addr, "is", v.addr, "epoch", v.epoch)
	}
	p.now = v
}

func (p *primary) addr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now.addr
}

// dial connects to the primary of now, whatever the address.
func (p *primary) dial(ctx context.Context, _ string, timeout time.Duration) (net.Conn, error) {
	addr := p.addr()
	if addr == "" {
		return nil, errors.New("no Sentinel has named a primary yet")
	}
	at := addr
	if p.Replicated.Reach != nil {
		at = p.Replicated.Reach(addr)
	}
	conn, err := redlock.DialTCP(ctx, at, timeout)
	if err != nil {
		return nil, err
	}
	return &primaryConn{conn.(*net.TCPConn), p, addr}, nil //nolint:forcetypeassert // it is one of TCP
}

// primaryConn takes no command when another server has become the primary, also if this one answers.
type primaryConn struct {
	*net.TCPConn
	of   *primary
	addr string
}

func (c *primaryConn) Write(b []byte) (int, error) {
	if c.of.addr() != c.addr {
		return 0, redlock.NotSentError{Err: fmt.Errorf("%s is the primary no longer", c.addr)}
	}
	return c.TCPConn.Write(b)
}

// close ends the questions. The connections are their users' to close.
func (p *primary) close() error {
	p.stop()
	p.asking.Wait()
	return nil
}
