package zookeepernode_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"locklab/internal/must"
	"locklab/locks/locktest"
	"locklab/locks/zklock/zktest"
	"locklab/nodes/agent"
	"locklab/nodes/agent/agenttest"
	"locklab/nodes/zookeepernode"
)

func TestMain(m *testing.M) {
	if !agenttest.Node(zookeepernode.Role()) {
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("os/signal.loop"))
	}
}

// ensemble is three real servers, started by an agent, with a link for each way from one to
// another.
type ensemble struct {
	agent *agent.Client
	addrs []map[string]string
	links []*locktest.Link
}

func name(i int) string { return agenttest.Name(zookeepernode.Name, i) }

func startEnsemble(t *testing.T) *ensemble {
	t.Helper()
	e := &ensemble{}
	way := func(addr string) zookeepernode.Port {
		l := locktest.NewLink(t, addr)
		e.links = append(e.links, l)
		return zookeepernode.Port{Addr: addr, Link: l.Addr()}
	}
	settings := func(i int, all []map[string]string) any {
		var s zookeepernode.Settings
		for j, other := range all {
			if i != j {
				s.Peers = append(s.Peers, zookeepernode.Peer{
					Name: name(j), Quorum: way(other[zookeepernode.PortQuorum]), Election: way(other[zookeepernode.PortElection]),
				})
			}
		}
		return s
	}
	e.agent, e.addrs = agenttest.Start(t, zookeepernode.Role(), 3, agent.NodeSpec{}, settings)
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

// TestServersTalkOverTheirLinks: who cuts all links leaves no leader, and no connection from
// one server to another; who heals them gets a leader.
func TestServersTalkOverTheirLinks(t *testing.T) {
	if _, err := os.Stat("/proc/net/tcp6"); err != nil {
		t.Skip("connections are counted as Linux shows them: ", err)
	}
	e := startEnsemble(t)
	first := zktest.Connect(t, []string{e.addrs[0][zookeepernode.PortClient]})
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
