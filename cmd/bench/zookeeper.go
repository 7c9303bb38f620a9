package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	json "github.com/go-json-experiment/json/v1"
	"github.com/go-zookeeper/zk"

	"locklab/locks/zklock"
	"locklab/nodes/zookeepernode"
)

// zookeeperRows compare the lock with the library's own, which is the same recipe: three
// servers on this machine's disk with fsync, one session for all workers of each.
func zookeeperRows() []row {
	oneKey := func(int) string { return "key" }
	var rows []row
	for _, workers := range []int{1, 16, 64} {
		rows = append(rows, row{
			name:  fmt.Sprintf("zookeeper acquire+release / the library's zk.Lock, distinct keys, %d workers", workers),
			reach: 1, unit: "ops/s", start: againstZookeeper(workers, func(i int) string { return fmt.Sprint("key-", i) }, zkLocks),
		})
	}
	return append(rows,
		row{
			name:  "zookeeper acquire+release / the library's zk.Lock, one key, 16 workers",
			reach: 1, unit: "ops/s", start: againstZookeeper(16, oneKey, zkLocks),
		},
		row{
			name: "zookeeper acquire+release / zookeeper:watch=all (the herd), one key, 16 workers",
			unit: "ops/s", start: againstZookeeper(16, oneKey, zkHerd),
		},
		row{
			name: "zookeeper acquire+release / zookeeper:watch=all (the herd), one key, 64 workers",
			unit: "ops/s", start: againstZookeeper(64, oneKey, zkHerd),
		},
	)
}

// zkPairs makes the workers of the lock to compare with: each locks and unlocks once when called.
type zkPairs func(addrs []string, workers int, key func(int) string, stops *stopList) ([]func(context.Context) error, error)

func againstZookeeper(workers int, key func(worker int) string, peers zkPairs) starter {
	return func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
		addrs, err := startZookeeper(ctx, stops)
		if err != nil {
			return nil, nil, err
		}
		locker, err := startZKLock(addrs, false, stops)
		if err != nil {
			return nil, nil, err
		}
		if err := await(ctx, "zookeeper", func(ctx context.Context) error { return pair(ctx, locker, "ready") }); err != nil {
			return nil, nil, err
		}
		pairs, err := peers(addrs, workers, key, stops)
		return rate(workers, func(ctx context.Context, w int) error { return pair(ctx, locker, key(w)) }),
			rate(workers, func(ctx context.Context, w int) error { return pairs[w](ctx) }), err
	}
}

func startZKLock(addrs []string, watchAll bool, stops *stopList) (*zklock.Locker, error) {
	o := zklock.DefaultOptions()
	o.Session, o.WatchAll = time.Minute, watchAll
	l, err := zklock.New(zklock.Config{Addrs: addrs, Options: o})
	if err == nil {
		stops.close(l)
	}
	return l, err
}

// zkLocks are the library's own.
func zkLocks(addrs []string, workers int, key func(int) string, stops *stopList) ([]func(context.Context) error, error) {
	conn, _, err := zk.Connect(addrs, time.Minute, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	stops.add(conn.Close)
	pairs := make([]func(context.Context) error, workers)
	for i := range pairs {
		lock := zk.NewLock(conn, "/peer/"+key(i), zk.WorldACL(zk.PermAll))
		pairs[i] = func(context.Context) error {
			if err := lock.Lock(); err != nil {
				return err
			}
			return lock.Unlock()
		}
	}
	return pairs, nil
}

// zkHerd is our lock with watch=all.
func zkHerd(addrs []string, workers int, key func(int) string, stops *stopList) ([]func(context.Context) error, error) {
	l, err := startZKLock(addrs, true, stops)
	if err != nil {
		return nil, err
	}
	pairs := make([]func(context.Context) error, workers)
	for i := range pairs {
		pairs[i] = func(ctx context.Context) error { return pair(ctx, l, "herd-"+key(i)) }
	}
	return pairs, nil
}

// zookeeperConfig is what a server's process is told.
type zookeeperConfig struct {
	Dir, Name string
	Addrs     map[string]string
	Peers     []zookeepernode.Peer
}

func startZookeeper(ctx context.Context, stops *stopList) (clients []string, err error) {
	const n = 3
	dir, err := tempDir(stops)
	if err != nil {
		return nil, err
	}
	addrs, err := freePorts(ctx, 3*n)
	if err != nil {
		return nil, err
	}
	var peers []zookeepernode.Peer
	for i := range n {
		peers = append(peers, zookeepernode.Peer{
			Name: fmt.Sprint("zookeeper-", i+1), Quorum: zookeepernode.Port{Addr: addrs[n+i]}, Election: zookeepernode.Port{Addr: addrs[2*n+i]},
		})
	}
	for i, p := range peers {
		c := zookeeperConfig{Dir: filepath.Join(dir, p.Name), Name: p.Name, Peers: slices.Delete(slices.Clone(peers), i, i+1)}
		c.Addrs = map[string]string{
			zookeepernode.PortClient: addrs[i], zookeepernode.PortQuorum: p.Quorum.Addr, zookeepernode.PortElection: p.Election.Addr,
		}
		if _, err := startPeer(ctx, stops, "zookeeper", c, nil); err != nil {
			return nil, err
		}
	}
	return addrs[:1], nil // the leader answers faster than who must ask it: all clients of a row dial the same server
}

// serveZookeeper makes this process a server.
func serveZookeeper(_ context.Context, config string) error {
	var c zookeeperConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	java, args, err := zookeepernode.Prepare(c.Dir, c.Name, c.Addrs, c.Peers)
	if err != nil {
		return err
	}
	if err := os.Chdir(c.Dir); err != nil {
		return err
	}
	return syscall.Exec(java, append([]string{java}, args...), os.Environ()) //nolint:gosec // a program of PATH, as everywhere
}
