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

	"locklab/locks/clock"
	"locklab/locks/redlock"
)

// askEvery is the pause between two requests to a Sentinel.
const askEvery = 100 * time.Millisecond

// primary finds the primary. It polls all Sentinels, and believes the one with the latest
// promotion: a Sentinel that is cut off from the others still names the old primary.
type primary struct {
	Config
	stop   context.CancelFunc
	asking sync.WaitGroup

	mu  sync.Mutex
	now view
}

// view is a Sentinel's answer.
type view struct {
	addr  string
	epoch uint64 // grows with each promotion
}

// findPrimary starts to poll. close ends it.
func findPrimary(cfg Config, engine redlock.Config) *primary {
	ctx, stop := context.WithCancel(context.Background())
	p := &primary{Config: cfg, stop: stop}
	for _, addr := range cfg.Replicated.Sentinels {
		p.asking.Go(func() { p.ask(ctx, engine.Client(addr)) })
	}
	return p
}

// ask polls one Sentinel until ctx ends.
func (p *primary) ask(ctx context.Context, client *redis.Client) {
	defer func() { _ = client.Close() }()
	for ctx.Err() == nil {
		limited, cancel := context.WithTimeout(ctx, p.Options.Timeout)
		master := redis.NewMapStringStringCmd(limited, "sentinel", "master", p.Replicated.Service)
		_ = client.Process(limited, master) // after an error the next poll follows
		cancel()
		said := master.Val()
		if epoch, err := strconv.ParseUint(said["config-epoch"], 10, 64); err == nil {
			p.hear(view{net.JoinHostPort(said["ip"], said["port"]), epoch})
		}
		clock.Await(p.Clock, askEvery, ctx.Done())
	}
}

// hear handles a Sentinel's answer.
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

// dial connects to the present primary, and ignores the address.
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
	return &primaryConn{conn.(*net.TCPConn), p, addr}, nil //nolint:forcetypeassert // the dialer uses TCP
}

// primaryConn refuses all commands once another server is the primary.
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

// close ends the polling. Users of dial close their connections themselves.
func (p *primary) close() error {
	p.stop()
	p.asking.Wait()
	return nil
}
