package raftnode_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
	"locklab/locks/raftlock/wire"
	"locklab/nodes/raftnode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a service of real servers on loopback, each reaching the others, and
// each client reaching the servers, through links that a test can cut.
type cluster struct {
	tb          testing.TB
	dir         string
	config      raftnode.Config // what all servers have in common
	names       []string
	servers     map[string]*raftnode.Server
	links       map[string]*locktest.Link // "from>to": between servers
	clientLinks map[string]*locktest.Link // from clients to a server, through restarts
	client      map[string]string         // the addresses of clientLinks

	founded map[string]bool // the servers that were started once
}

func newCluster(tb testing.TB, n int, config raftnode.Config) *cluster {
	tb.Helper()
	c := &cluster{
		tb: tb, dir: tb.TempDir(), config: config, servers: map[string]*raftnode.Server{},
		links: map[string]*locktest.Link{}, clientLinks: map[string]*locktest.Link{}, client: map[string]string{},
		founded: map[string]bool{},
	}
	for i := range n {
		name := fmt.Sprintf("raft-%d", i+1)
		c.names = append(c.names, name)
		c.clientLinks[name] = locktest.NewLink(tb, "")
		c.client[name] = c.clientLinks[name].Addr()
	}
	for _, from := range c.names {
		for _, to := range c.names {
			if from != to {
				c.links[from+">"+to] = locktest.NewLink(tb, "")
			}
		}
	}
	tb.Cleanup(func() {
		for _, name := range c.names {
			c.stop(name)
		}
	})
	for _, name := range c.names {
		c.start(name)
	}
	return c
}

func (c *cluster) start(name string) {
	c.tb.Helper()
	server, err := c.open(name)
	must.Do(c.tb, err)
	c.servers[name] = server
	c.clientLinks[name].To(server.ClientAddr())
	for _, other := range c.names {
		if other != name {
			c.links[other+">"+name].To(server.RaftAddr())
		}
	}
}

func (c *cluster) open(name string) (*raftnode.Server, error) {
	c.tb.Helper()
	dir := filepath.Join(c.dir, name)
	must.Do(c.tb, os.MkdirAll(dir, 0o700))
	config := c.config
	config.Name, config.Dir, config.ClientAddr, config.RaftAddr = name, dir, "127.0.0.1:0", "127.0.0.1:0"
	config.Founds, c.founded[name] = !c.founded[name], true
	config.Log, config.Clock = c.log().With("node", name), clock.System()
	for _, other := range c.names {
		if other != name {
			peer := raftnode.Peer{Name: other, Addr: c.links[name+">"+other].Addr()}
			config.Settings.Peers = append(config.Settings.Peers, peer)
		}
	}
	return raftnode.Start(context.Background(), config)
}

func (c *cluster) stop(name string) {
	if server := c.servers[name]; server != nil {
		delete(c.servers, name)
		if err := server.Close(); err != nil {
			c.tb.Errorf("close %s: %v", name, err)
		}
	}
}

// restart stops all servers, and starts them again.
func (c *cluster) restart() {
	c.tb.Helper()
	for _, name := range c.names {
		c.stop(name)
	}
	for _, name := range c.names {
		c.start(name)
	}
}

// cut cuts a server off from the others, or heals its links.
func (c *cluster) cut(name string, off bool) {
	for ends, link := range c.links {
		if strings.HasPrefix(ends, name+">") || strings.HasSuffix(ends, ">"+name) {
			link.Cut(off)
		}
	}
}

func (c *cluster) log() *slog.Logger {
	if !testing.Verbose() {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func (c *cluster) locker(lease time.Duration) *raftlock.Locker {
	c.tb.Helper()
	return c.lockerAt(lease, c.all()...)
}

func (c *cluster) all() []raftlock.Server {
	var servers []raftlock.Server
	for _, name := range c.names {
		servers = append(servers, raftlock.Server{Name: name, Addr: c.client[name]})
	}
	return servers
}

func (c *cluster) lockerAt(lease time.Duration, servers ...raftlock.Server) *raftlock.Locker {
	c.tb.Helper()
	return c.lockerOn(nil, lease, servers...)
}

func (c *cluster) lockerOn(clk clock.Clock, lease time.Duration, servers ...raftlock.Server) *raftlock.Locker {
	c.tb.Helper()
	options := raftlock.DefaultOptions()
	options.Lease = lease
	l, err := raftlock.New(raftlock.Config{
		Servers: servers, Client: "test", Options: options, Seed: seed.Seed(len(c.tb.Name())),
		Log: c.log().With("client", "test"), Clock: clk,
	})
	must.Do(c.tb, err)
	c.tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			c.tb.Errorf("close client: %v", err)
		}
	})
	return l
}

// status asks one server; it is empty if that does not answer.
func (c *cluster) status(name string) wire.Status {
	c.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	status, err := wire.Ask(ctx, c.client[name])
	if err != nil {
		return wire.Status{}
	}
	return *status
}

// leader waits until one server other than the given ones serves, and names it.
func (c *cluster) leader(but ...string) string {
	c.tb.Helper()
	found := ""
	locktest.Eventually(c.tb, "a leader", func() bool {
		i := slices.IndexFunc(c.names, func(name string) bool {
			return c.servers[name] != nil && !slices.Contains(but, name) && c.status(name).Serving
		})
		if i >= 0 {
			found = c.names[i]
		}
		return i >= 0
	})
	return found
}

func TestConformance(t *testing.T) {
	t.Parallel()
	const lease = 3 * time.Second
	first := &locktest.Clock{}
	leases := &locktest.Leases{Time: lease, Clock: first}
	locktest.Run(t, locktest.Subject{Leases: leases, New: func(tb testing.TB) []locks.Locker {
		c := newCluster(tb, 3, raftnode.Config{})
		return []locks.Locker{c.lockerOn(first, lease, c.all()...), c.locker(lease), c.locker(lease)}
	}})
}
