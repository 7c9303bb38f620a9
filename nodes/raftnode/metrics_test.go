package raftnode_test

import (
	"strings"
	"testing"

	"locklab/internal/metrics/metricstest"
	"locklab/locks/locktest"
	"locklab/nodes/raftnode"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, raftnode.Config{})
	locktest.Release(t, locktest.Acquire(t, c.locker(long), "r"))
	leader := c.leader()
	metricstest.Has(t, metricstest.Page(t, c.servers[leader]),
		"locklab_raft_leader 1", "locklab_raft_serving 1", "locklab_raft_grants_total 1", "locklab_raft_streams 1",
	)
	for name, s := range c.servers {
		if page := metricstest.Page(t, s); name != leader && !strings.Contains(page, "locklab_raft_leader 0\n") {
			t.Errorf("%s is no leader and says\n%s", name, page)
		}
	}
}
