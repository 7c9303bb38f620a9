package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

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
			reach: r.reach, unit: "ops/s", start: startRaftRow(r.workers, false, etcdMutexes),
		})
	}
	return append(rows,
		row{
			name:  "raft lock+unlock / etcd Mutex, one key, 16 workers; etcd's Mutex hands over on a 100 ms timer",
			reach: 10, unit: "ops/s", start: startRaftRow(16, true, etcdMutexes),
		},
		row{
			name:  "raft lock+unlock / our own mutex on etcd's leases and watches, without that timer, one key, 16 workers",
			reach: 1, unit: "ops/s", start: startRaftRow(16, true, etcdQueues),
		},
	)
}

// pairOfWorker does one lock and unlock.
type pairOfWorker func(ctx context.Context) error

// etcdPairs makes the workers of a lock on etcd.
type etcdPairs func(ctx context.Context, c *clientv3.Client, workers int, key func(int) string, stops *stopList) ([]pairOfWorker, error)

func startRaftRow(workers int, oneKey bool, peerPairs etcdPairs) func(context.Context) (subject, peer measurement, stop func(), err error) {
	return func(ctx context.Context) (subject, peer measurement, stop func(), err error) {
		var stops stopList
		defer func() {
			if err != nil {
				stops.run()
			}
		}()
		dir, err := os.MkdirTemp("", "locklab-bench-")
		if err != nil {
			return nil, nil, nil, err
		}
		stops.add(func() { _ = os.RemoveAll(dir) }) // the system cleans up what is left
		key := func(i int) string {
			if oneKey {
				return "key"
			}
			return "key-" + strconv.Itoa(i)
		}
		raftPairs, err := startRaft(ctx, dir, workers, key, &stops)
		if err != nil {
			return nil, nil, nil, err
		}
		client, err := startEtcd(ctx, dir, &stops)
		if err != nil {
			return nil, nil, nil, err
		}
		etcd, err := peerPairs(ctx, client, workers, key, &stops)
		if err != nil {
			return nil, nil, nil, err
		}
		return pairsPerSecond(raftPairs), pairsPerSecond(etcd), stops.run, nil
	}
}

// pairsPerSecond runs every worker in a closed loop.
func pairsPerSecond(workers []pairOfWorker) measurement {
	return func(ctx context.Context, d time.Duration) (float64, error) {
		limit, cancel := context.WithTimeout(ctx, d)
		defer cancel()
		var mu sync.Mutex
		total := 0
		begun := time.Now()
		var group errgroup.Group
		for _, pair := range workers {
			group.Go(func() error {
				n := 0
				for limit.Err() == nil {
					if err := pair(ctx); err != nil {
						return err
					}
					n++
				}
				mu.Lock()
				total += n
				mu.Unlock()
				return nil
			})
		}
		if err := group.Wait(); err != nil {
			return 0, err
		}
		return float64(total) / time.Since(begun).Seconds(), nil
	}
}

// stopList runs what was added, the last first.
type stopList struct{ stops []func() }

func (s *stopList) add(f func()) { s.stops = append(s.stops, f) }

func (s *stopList) run() {
	for _, stop := range slices.Backward(s.stops) {
		stop()
	}
	s.stops = nil
}

const raftServers = 3

// startRaft starts the servers by running this program again.
func startRaft(ctx context.Context, dir string, workers int, key func(int) string, stops *stopList) ([]pairOfWorker, error) {
	var servers []raftlock.Server
	configs := make([]raftnode.Config, raftServers)
	for i := range configs {
		name := fmt.Sprintf("raft-%d", i+1)
		ports, err := freePorts(ctx, 2)
		if err != nil {
			return nil, err
		}
		configs[i] = raftnode.Config{Name: name, Dir: filepath.Join(dir, name), ClientAddr: ports[0], RaftAddr: ports[1]}
		servers = append(servers, raftlock.Server{Name: name, Addr: ports[0]})
	}
	for i := range configs {
		for j := range configs {
			if i != j {
				configs[i].Settings.Peers = append(configs[i].Settings.Peers, raftnode.Peer{Name: configs[j].Name, Addr: configs[j].RaftAddr})
			}
		}
		if err := os.MkdirAll(configs[i].Dir, 0o700); err != nil {
			return nil, err
		}
		encoded, err := json.Marshal(raftPeer{configs[i].Name, configs[i].Dir, configs[i].ClientAddr, configs[i].RaftAddr, configs[i].Settings})
		if err != nil {
			return nil, err
		}
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		if err := startProcessWith(ctx, raftnode.Environment(), stops, dir, configs[i].Name, self, "peer", "raft", string(encoded)); err != nil {
			return nil, err
		}
	}
	locker, err := raftlock.New(raftlock.Config{Servers: servers, Client: "bench"}) //nolint:contextcheck // a client lives until Close
	if err != nil {
		return nil, err
	}
	stops.add(func() { _ = locker.Close() }) // the servers end next
	pairs := make([]pairOfWorker, workers)
	for i := range pairs {
		pairs[i] = func(ctx context.Context) error {
			lease, err := locker.Acquire(ctx, key(i))
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		}
	}
	return pairs, pairs[0](ctx) // waits until there is a leader
}

// raftPeer is what a server's process is told.
type raftPeer struct {
	Name, Dir, ClientAddr, RaftAddr string
	Settings                        raftnode.Settings
}

// serveRaft is the server's process.
func serveRaft(args []string) {
	var p raftPeer
	err := errors.New("want one argument")
	if len(args) == 1 {
		err = json.Unmarshal([]byte(args[0]), &p)
	}
	if err == nil {
		var server *raftnode.Server
		server, err = raftnode.Start(context.Background(), raftnode.Config{
			Name: p.Name, Dir: p.Dir, ClientAddr: p.ClientAddr, RaftAddr: p.RaftAddr, Settings: p.Settings,
		})
		if err == nil {
			_, _ = io.Copy(io.Discard, os.Stdin) // any end is the end
			err = server.Close()
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: raft server: %v\n", err)
		os.Exit(1)
	}
}

func startEtcd(ctx context.Context, dir string, stops *stopList) (*clientv3.Client, error) {
	const members = 3
	var cluster, endpoints []string
	client, peer := make([]string, members), make([]string, members)
	for i := range members {
		ports, err := freePorts(ctx, 2)
		if err != nil {
			return nil, err
		}
		client[i], peer[i] = "http://"+ports[0], "http://"+ports[1]
		cluster = append(cluster, fmt.Sprintf("etcd-%d=%s", i+1, peer[i]))
		endpoints = append(endpoints, ports[0])
	}
	for i := range members {
		name := fmt.Sprintf("etcd-%d", i+1)
		if err := startProcess(ctx, stops, dir, name, "etcd", "--name", name, "--data-dir", filepath.Join(dir, name),
			"--listen-client-urls", client[i], "--advertise-client-urls", client[i],
			"--listen-peer-urls", peer[i], "--initial-advertise-peer-urls", peer[i],
			"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new", "--log-level", "error",
		); err != nil {
			return nil, err
		}
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	stops.add(func() { _ = c.Close() }) // the members end next
	return c, awaitEtcd(ctx, c)
}

// etcdMutexes are etcd's own, with a session for each worker.
func etcdMutexes(_ context.Context, c *clientv3.Client, workers int, key func(int) string, stops *stopList) ([]pairOfWorker, error) {
	pairs := make([]pairOfWorker, workers)
	for i := range pairs {
		session, err := concurrency.NewSession(c, concurrency.WithTTL(60))
		if err != nil {
			return nil, err
		}
		stops.add(session.Orphan)
		mutex := concurrency.NewMutex(session, key(i))
		pairs[i] = func(ctx context.Context) error {
			if err := mutex.Lock(ctx); err != nil {
				return err
			}
			return mutex.Unlock(ctx)
		}
	}
	return pairs, nil
}

// etcdQueues share one queue, as all workers of the row share one key.
func etcdQueues(ctx context.Context, c *clientv3.Client, workers int, key func(int) string, stops *stopList) ([]pairOfWorker, error) {
	q, err := startEtcdQueue(ctx, c, key(0)+"/", stops)
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]pairOfWorker{q.pair}, workers), nil
}

// awaitEtcd waits until the cluster has a leader.
func awaitEtcd(ctx context.Context, c *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, time.Second)
		_, err := c.Get(try, "ready")
		done()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

// startProcess starts a server whose output goes to a file in dir.
func startProcess(ctx context.Context, stops *stopList, dir, name, path string, args ...string) error {
	return startProcessWith(ctx, nil, stops, dir, name, path, args...)
}

// startProcessWith adds to the server's environment.
func startProcessWith(ctx context.Context, env []string, stops *stopList, dir, name, path string, args ...string) error {
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), env...)
	stdin, err := cmd.StdinPipe() // its end tells our own processes to end
	if err != nil {
		return errors.Join(err, log.Close())
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	stops.add(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		_ = log.Close()
	})
	return nil
}

// freePorts finds loopback addresses that are free at the moment.
func freePorts(ctx context.Context, n int) ([]string, error) {
	var addrs []string
	for range n {
		var config net.ListenConfig
		lis, err := config.Listen(ctx, "tcp", "127.0.0.1:0") // ends at once
		if err != nil {
			return nil, err
		}
		defer func() { _ = lis.Close() }() // only held to get distinct ones
		addrs = append(addrs, lis.Addr().String())
	}
	return addrs, nil
}
