package raftnode_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/clock"
	"locklab/locks/locktest"
	"locklab/locks/raftlock"
	pb "locklab/locks/raftlock/raftlockpb"
	"locklab/locks/seed"
	"locklab/nodes/raftnode"
	"locklab/workloads/history"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a service of real servers on loopback, each reaching the others, and
// each client reaching the servers, through links that a test can cut.
type cluster struct {
	tb       testing.TB
	dir      string
	settings raftnode.Settings
	recorder history.Recorder
	names    []string
	servers  map[string]*raftnode.Server
	links    map[string]*link  // "from>to": between servers
	doors    map[string]*link  // from clients to a server, through restarts
	client   map[string]string // the doors' addresses

	authority *locktest.Authority // for TLS everywhere; nil for none
}

func newCluster(tb testing.TB, n int, settings raftnode.Settings) *cluster {
	tb.Helper()
	c := newStoppedCluster(tb, n, settings)
	for _, name := range c.names {
		c.start(name)
	}
	return c
}

func newStoppedCluster(tb testing.TB, n int, settings raftnode.Settings) *cluster {
	tb.Helper()
	c := &cluster{
		tb: tb, dir: tb.TempDir(), settings: settings, servers: map[string]*raftnode.Server{},
		links: map[string]*link{}, doors: map[string]*link{}, client: map[string]string{},
	}
	for i := range n {
		name := fmt.Sprintf("raft-%d", i+1)
		c.names = append(c.names, name)
		c.doors[name] = newLink(tb)
		c.client[name] = c.doors[name].addr()
	}
	for _, from := range c.names {
		for _, to := range c.names {
			if from != to {
				c.links[from+">"+to] = newLink(tb)
			}
		}
	}
	tb.Cleanup(func() {
		for _, name := range c.names {
			c.stop(name)
		}
	})
	return c
}

func (c *cluster) start(name string) {
	c.tb.Helper()
	dir := filepath.Join(c.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		c.tb.Fatal(err)
	}
	settings := c.settings
	for _, other := range c.names {
		if other != name {
			settings.Peers = append(settings.Peers, raftnode.Peer{Name: other, Addr: c.links[name+">"+other].addr()})
		}
	}
	server, err := raftnode.Start(context.Background(), raftnode.Config{
		Name: name, Dir: dir, ClientAddr: "127.0.0.1:0", RaftAddr: "127.0.0.1:0",
		Settings: settings, TLS: c.tls(name), Recorder: c.recorder, Log: c.log().With("node", name),
	})
	if err != nil {
		c.tb.Fatal(err)
	}
	c.servers[name] = server
	c.doors[name].to(server.ClientAddr())
	for _, other := range c.names {
		if other != name {
			c.links[other+">"+name].to(server.RaftAddr())
		}
	}
}

// tls is what a server or a client shows and wants to see.
func (c *cluster) tls(name string) *tls.Config {
	if c.authority == nil {
		return nil
	}
	config := c.authority.Config(name)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, config.RootCAs
	return config
}

func (c *cluster) stop(name string) {
	if server := c.servers[name]; server != nil {
		delete(c.servers, name)
		if err := server.Close(); err != nil {
			c.tb.Errorf("close %s: %v", name, err)
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
		Log: c.log().With("client", "test"), Clock: clk, TLS: c.tls("test"),
	})
	if err != nil {
		c.tb.Fatal(err)
	}
	c.tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			c.tb.Errorf("close client: %v", err)
		}
	})
	return l
}

// status asks one server; nil if it does not answer.
func (c *cluster) status(name string) *pb.StatusResponse {
	security := insecure.NewCredentials()
	if config := c.tls("test"); config != nil {
		config.ServerName = name
		security = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient("passthrough:///"+c.client[name], grpc.WithTransportCredentials(security))
	if err != nil {
		c.tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	status, err := pb.NewLockServiceClient(conn).Status(ctx, &pb.StatusRequest{})
	if err != nil {
		return nil
	}
	return status
}

// leader waits until one server other than the given ones serves, and names it.
func (c *cluster) leader(but ...string) string {
	c.tb.Helper()
	found := ""
	waitFor(c.tb, "a leader", func() bool {
		for _, name := range c.names {
			skip := c.servers[name] == nil
			for _, b := range but {
				skip = skip || b == name
			}
			if !skip && c.status(name).GetServing() {
				found = name
				return true
			}
		}
		return false
	})
	return found
}

// waitFor waits for a condition, for as long as the slowest machine may need.
func waitFor(tb testing.TB, what string, met func() bool) {
	tb.Helper()
	timer := clock.System().NewTimer(0)
	defer timer.Stop()
	for range 3000 {
		<-timer.C()
		if met() {
			return
		}
		timer.Reset(20 * time.Millisecond)
	}
	tb.Fatalf("waited in vain for %s", what)
}

func TestConformance(t *testing.T) {
	const lease = 3 * time.Second
	first := locktest.NewClock()
	leases := &locktest.Leases{Time: lease, Clock: first}
	locktest.Run(t, locktest.Subject{Leases: leases, New: func(tb testing.TB) []locks.Locker {
		c := newCluster(tb, 3, raftnode.Settings{})
		return []locks.Locker{c.lockerOn(first, lease, c.all()...), c.locker(lease), c.locker(lease)}
	}})
}
