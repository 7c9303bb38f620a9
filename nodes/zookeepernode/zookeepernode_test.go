package zookeepernode_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"locklab/internal/httpapi"
	"locklab/internal/must"
	"locklab/locks/locktest"
	"locklab/nodes/agent"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/nodes/zookeepernode"
)

// TestMain lets the test binary be the locklab that the agent runs: node zookeeper --config FILE.
func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == "node" {
		if err := process.Run(context.Background(), os.Args[4], zookeepernode.Role().Main); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/signal.loop"))
}

// ensemble is three real servers, started by an agent, with a link for each way from one to
// another.
type ensemble struct {
	agent *agent.Client
	addrs []map[string]string
	links []*locktest.Link
}

func name(i int) string { return fmt.Sprint("zk-", i) }

func startEnsemble(t *testing.T) *ensemble {
	t.Helper()
	must.Do(t, zookeepernode.Role().Missing())
	exe, err := os.Executable()
	must.Do(t, err)
	c := agent.DefaultConfig()
	c.Host, c.Zone, c.Token, c.DataDir, c.Executable = "h", "a", httpapi.NewToken(), t.TempDir(), exe
	c.Roles, c.StartTimeout, c.Log = []role.Role{zookeepernode.Role()}, time.Minute, slog.New(slog.DiscardHandler)
	a, err := agent.New(c)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	e := &ensemble{agent: agent.NewClient(a.URL(), c.Token)}
	for i := range 3 {
		addrs, err := e.agent.Reserve(t.Context(), name(i), zookeepernode.Name)
		must.Do(t, err)
		e.addrs = append(e.addrs, addrs)
	}
	started := make(chan error)
	for i := range 3 {
		var s zookeepernode.Settings
		way := func(addr string) zookeepernode.Port {
			l := locktest.NewLink(t, addr)
			e.links = append(e.links, l)
			return zookeepernode.Port{Addr: addr, Link: l.Addr()}
		}
		for j, other := range e.addrs {
			if i != j {
				s.Peers = append(s.Peers, zookeepernode.Peer{
					Name: name(j), Quorum: way(other[zookeepernode.PortQuorum]), Election: way(other[zookeepernode.PortElection]),
				})
			}
		}
		settings, err := json.Marshal(s)
		must.Do(t, err)
		go func() {
			started <- e.agent.Start(t.Context(), agent.NodeSpec{Name: name(i), Role: zookeepernode.Name, Settings: settings})
		}()
	}
	for range 3 {
		err = errors.Join(err, <-started)
	}
	must.Do(t, err)
	return e
}

// leader is the one of these that leads; -1 if none does.
func (e *ensemble) leader(t *testing.T, among ...int) int {
	for _, i := range among {
		if leads, err := zookeepernode.Role().Leads(t.Context(), e.addrs[i][zookeepernode.PortClient]); err == nil && leads {
			return i
		}
	}
	return -1
}

// all are the numbers of the servers, others those of two of them.
func all() []int { return []int{0, 1, 2} }

// connections are how many the servers have accepted from each other, over links or not.
func (e *ensemble) connections(t *testing.T) (count int) {
	v4, err1 := os.ReadFile("/proc/net/tcp")
	v6, err2 := os.ReadFile("/proc/net/tcp6") // Java's, also with addresses of IPv4
	must.Do(t, errors.Join(err1, err2))
	for _, addrs := range e.addrs {
		for _, port := range zookeepernode.Role().PeerPorts {
			end := fmt.Sprintf(":%04X", netip.MustParseAddrPort(addrs[port]).Port())
			for line := range strings.Lines(string(v4) + string(v6)) {
				f := strings.Fields(line) // slot, local address, remote address, state
				if strings.HasSuffix(f[1], end) && f[3] == "01" {
					count++
				}
			}
		}
	}
	return count
}

// connect returns a client of one server.
func (e *ensemble) connect(t *testing.T, i int) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect([]string{e.addrs[i][zookeepernode.PortClient]}, 10*time.Second, zk.WithLogger(quiet{}))
	must.Do(t, err)
	t.Cleanup(c.Close)
	return c
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// TestServersTalkOverTheirLinks: who cuts all links leaves no leader, and no connection from
// one server to another; who heals them gets a leader.
func TestServersTalkOverTheirLinks(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp6"); err != nil {
		t.Skip("connections are counted as Linux shows them: ", err)
	}
	e := startEnsemble(t)
	first := e.connect(t, 0)
	for range 2 {
		// ZooKeeper 3.8 does not start again where it was killed while it took over a new epoch:
		// "The current epoch, 1, is older than the last zxid".
		locktest.Eventually(t, "the first server serves", func() bool {
			_, _, err := first.Exists("/")
			return err == nil
		})
		// The one whose calls the others answer by calling back.
		must.Do(t, e.agent.Restart(t.Context(), name(0), false))
		locktest.Eventually(t, "a leader", func() bool { return e.leader(t, all()...) >= 0 })
		locktest.Eventually(t, "connections where some must be", func() bool { return e.connections(t) >= 3 })
		for _, l := range e.links {
			l.Cut(true)
		}
		locktest.Eventually(t, "no leader while all links are cut", func() bool { return e.leader(t, all()...) < 0 })
		locktest.Eventually(t, "no connection from server to server while all links are cut", func() bool { return e.connections(t) == 0 })
		for _, l := range e.links {
			l.Cut(false)
		}
		locktest.Eventually(t, "a leader after the links were healed", func() bool { return e.leader(t, all()...) >= 0 })
	}
}

func TestVersion(t *testing.T) {
	if v, err := zookeepernode.Role().Version(t.Context()); err != nil || !strings.HasPrefix(v, "ZooKeeper 3.") {
		t.Errorf("%q, %v", v, err)
	}
}
