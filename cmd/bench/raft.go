package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	json "github.com/go-json-experiment/json/v1"

	"locklab/locks/raftlock"
	"locklab/nodes/raftnode"
)

// raftRows compares the raft lock with etcd's Mutex: three processes each, on this
// machine's disk with fsync, without any link between them, one client process.
// etcd's client spreads its requests over the members, as it does by default.
func raftRows() []row {
	var rows []row
	for _, r := range []struct {
		workers int
		reach   float64
	}{{1, 1.3}, {16, 2}, {64, 3}} {
		rows = append(rows, row{
			name:  fmt.Sprintf("raft lock+unlock / etcd Mutex, distinct keys, %d workers", r.workers),
			reach: r.reach, unit: "ops/s", start: againstEtcd(r.workers, func(i int) string { return fmt.Sprint("key-", i) }, etcdMutexes),
		})
	}
	oneKey := func(int) string { return "key" }
	return append(rows,
		row{
			name:  "raft lock+unlock / etcd Mutex, one key, 16 workers; etcd's Mutex hands over on a 100 ms timer",
			reach: 10, unit: "ops/s", start: againstEtcd(16, oneKey, etcdMutexes),
		},
		row{
			name:  "raft lock+unlock / our own mutex on etcd's leases and watches, without that timer, one key, 16 workers",
			reach: 1, unit: "ops/s", start: againstEtcd(16, oneKey, etcdQueues),
		},
	)
}

func againstEtcd(workers int, key func(worker int) string, peers etcdPairs) starter {
	return func(ctx context.Context, stops *stopList) (subject, peer measurement, err error) {
		dir, err := tempDir(stops)
		if err != nil {
			return nil, nil, err
		}
		locker, err := startRaft(ctx, dir, stops)
		if err != nil {
			return nil, nil, err
		}
		client, err := startEtcd(ctx, dir, stops)
		if err != nil {
			return nil, nil, err
		}
		pairs, err := peers(ctx, client, workers, key, stops)
		return rate(workers, func(ctx context.Context, w int) error { return pair(ctx, locker, key(w)) }),
			rate(workers, func(ctx context.Context, w int) error { return pairs[w](ctx) }), err
	}
}

// startRaft starts three servers by running this program again, and returns a client when
// there is a leader.
func startRaft(ctx context.Context, dir string, stops *stopList) (*raftlock.Locker, error) {
	const n = 3
	addrs, err := freePorts(ctx, 2*n)
	if err != nil {
		return nil, err
	}
	var servers []raftlock.Server
	var peers []raftnode.Peer
	for i := range n {
		name := fmt.Sprintf("raft-%d", i+1)
		servers = append(servers, raftlock.Server{Name: name, Addr: addrs[i]})
		peers = append(peers, raftnode.Peer{Name: name, Addr: addrs[n+i]})
	}
	for i, s := range servers {
		c := raftnode.Config{Name: s.Name, Dir: filepath.Join(dir, s.Name), ClientAddr: s.Addr, RaftAddr: peers[i].Addr, Founds: true}
		c.Settings.Peers = slices.Delete(slices.Clone(peers), i, i+1)
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			return nil, err
		}
		if _, err := startPeer(ctx, stops, "raft", c, raftnode.Environment()); err != nil {
			return nil, err
		}
	}
	locker, err := raftlock.New(raftlock.Config{Servers: servers, Client: "bench"}) //nolint:contextcheck // a client lives until Close
	if err != nil {
		return nil, err
	}
	stops.close(locker)
	return locker, pair(ctx, locker, "ready")
}

// serveRaft is a server's process.
func serveRaft(ctx context.Context, config string) error {
	var c raftnode.Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	server, err := raftnode.Start(ctx, c)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // any end is the end
	return server.Close()
}
