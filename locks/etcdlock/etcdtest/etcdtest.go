// Package etcdtest starts real etcd clusters for tests.
package etcdtest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"locklab/internal/must"
	"locklab/locks/locktest"
)

// Cluster is a real cluster that belongs to one test.
type Cluster struct {
	Addrs  []string // of the members' client ports
	Client *clientv3.Client

	members []*exec.Cmd
}

// Start starts a cluster of n members, and waits for a leader.
func Start(tb testing.TB, n int) *Cluster {
	tb.Helper()
	path, err := exec.LookPath("etcd")
	if err != nil {
		tb.Skip("etcd is not installed here: apt-get install etcd-server")
	}
	c := &Cluster{}
	var peers, all []string
	for i := range n {
		c.Addrs, peers = append(c.Addrs, locktest.FreeAddr(tb)), append(peers, locktest.FreeAddr(tb))
		all = append(all, fmt.Sprintf("etcd-%d=http://%s", i, peers[i]))
	}
	dir := tb.TempDir()
	for i := range n {
		name := fmt.Sprintf("etcd-%d", i)
		cmd := exec.CommandContext(context.Background(), path,
			"--name", name, "--data-dir", filepath.Join(dir, name), "--log-level", "error",
			"--listen-client-urls", "http://"+c.Addrs[i], "--advertise-client-urls", "http://"+c.Addrs[i],
			"--listen-peer-urls", "http://"+peers[i], "--initial-advertise-peer-urls", "http://"+peers[i],
			"--initial-cluster", strings.Join(all, ","))
		must.Do(tb, cmd.Start())
		tb.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		c.members = append(c.members, cmd)
	}
	c.Client = Dial(tb, c.Addrs)
	_, err = c.Client.Get(locktest.Within(tb), "ready") // waits for a leader
	must.Do(tb, err)
	return c
}

// Dial returns a client, which is closed when the test ends.
func Dial(tb testing.TB, addrs []string) *clientv3.Client {
	tb.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: addrs, Logger: zap.NewNop()})
	must.Do(tb, err)
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Signal sends s to all members.
func (c *Cluster) Signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	for _, m := range c.members {
		must.Do(tb, m.Process.Signal(s))
	}
}
