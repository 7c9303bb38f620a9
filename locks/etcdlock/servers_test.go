package etcdlock_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"locklab/locks/etcdlock"
	"locklab/locks/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster is a real one of a test's own.
type cluster struct {
	addrs   []string
	members []*exec.Cmd
	client  *clientv3.Client
}

func startCluster(tb testing.TB, n int) *cluster {
	tb.Helper()
	path, err := exec.LookPath("etcd")
	if err != nil {
		tb.Skip("etcd is not installed here: apt-get install etcd-server")
	}
	c := &cluster{}
	var peers, all []string
	for i := range n {
		c.addrs, peers = append(c.addrs, locktest.FreeAddr(tb)), append(peers, locktest.FreeAddr(tb))
		all = append(all, fmt.Sprintf("etcd-%d=http://%s", i, peers[i]))
	}
	dir := tb.TempDir()
	for i := range n {
		name := fmt.Sprintf("etcd-%d", i)
		cmd := exec.Command(path, "--name", name, "--data-dir", filepath.Join(dir, name), "--log-level", "error",
			"--listen-client-urls", "http://"+c.addrs[i], "--advertise-client-urls", "http://"+c.addrs[i],
			"--listen-peer-urls", "http://"+peers[i], "--initial-advertise-peer-urls", "http://"+peers[i],
			"--initial-cluster", strings.Join(all, ","))
		if err := cmd.Start(); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		c.members = append(c.members, cmd)
	}
	c.client, err = clientv3.New(clientv3.Config{Endpoints: c.addrs, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.client.Close() })
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	if _, err := c.client.Get(ctx, "ready"); err != nil { // waits for a leader
		tb.Fatal(err)
	}
	return c
}

// signal goes to all members.
func (c *cluster) signal(tb testing.TB, s syscall.Signal) {
	tb.Helper()
	for _, m := range c.members {
		if err := m.Process.Signal(s); err != nil {
			tb.Fatal(err)
		}
	}
}

func newClient(tb testing.TB, addrs []string, o etcdlock.Options) *etcdlock.Locker {
	tb.Helper()
	l, err := etcdlock.New(etcdlock.Config{Addrs: addrs, Options: o})
	return locktest.Open(tb, l, err)
}
