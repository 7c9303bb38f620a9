package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	json "github.com/go-json-experiment/json/v1"

	"locklab/locks"
	"locklab/locks/multiphase"
	"locklab/locks/peerlock/mesh"
)

// group is n processes, this one included.
type group struct {
	lock   *multiphase.Locker
	bare   *bareRounds
	mesh   *mesh.Mesh
	echoes []net.Conn // one to each other process
	others []*process
}

// groupConfig is what a process of a group is told: the addresses of all of them.
type groupConfig struct {
	Rank             int
	Lock, Bare, Echo []string
	Spec             string // of the lock
}

func (c groupConfig) peers(addrs []string) []mesh.Peer {
	var peers []mesh.Peer
	for rank, addr := range addrs {
		if rank != c.Rank {
			peers = append(peers, mesh.Peer{ID: fmt.Sprint(rank), Rank: rank, Addr: addr})
		}
	}
	return peers
}

// serve runs the lock and the bare mesh of one process.
func (c groupConfig) serve(ctx context.Context, handler mesh.Handler, stops *stopList) (*multiphase.Locker, *mesh.Mesh, error) {
	lock, err1 := new(net.ListenConfig).Listen(ctx, "tcp", c.Lock[c.Rank])
	bare, err2 := new(net.ListenConfig).Listen(ctx, "tcp", c.Bare[c.Rank])
	spec, err3 := locks.ParseSpec(c.Spec)
	options, err4 := multiphase.ParseOptions(spec)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, nil, err
	}
	l, err := multiphase.New(multiphase.Config{ //nolint:contextcheck // it lives until the row stops
		ID: fmt.Sprint(c.Rank), Rank: c.Rank, Cluster: "bench", Peers: c.peers(c.Lock), Listener: lock, Options: options,
	})
	if err != nil {
		return nil, nil, err
	}
	stops.close(l)
	m, err := mesh.New(mesh.Config{ //nolint:contextcheck // it lives until the row stops
		Self: mesh.Peer{ID: fmt.Sprint(c.Rank), Rank: c.Rank}, Cluster: "bench", Protocol: "bare",
		Peers: c.peers(c.Bare), Listener: bare, Handler: handler,
	})
	if err != nil {
		return nil, nil, err
	}
	stops.close(m)
	return l, m, nil
}

func startGroup(ctx context.Context, n int, spec string, stops *stopList) (*group, error) {
	addrs, err := freePorts(ctx, 3*n)
	if err != nil {
		return nil, err
	}
	g := &group{bare: &bareRounds{all: make(chan struct{}), peers: n - 1}}
	cfg := groupConfig{Spec: spec, Lock: addrs[:n], Bare: addrs[n : 2*n], Echo: addrs[2*n:]}
	for cfg.Rank = 1; cfg.Rank < n; cfg.Rank++ {
		p, err := startPeer(ctx, stops, "multiphase", cfg, []string{"GOMAXPROCS=1"}) // as the lab runs its masters
		if err != nil {
			return nil, err
		}
		g.others = append(g.others, p)
	}
	cfg.Rank = 0
	if g.lock, g.mesh, err = cfg.serve(ctx, g.bare, stops); err != nil {
		return nil, err
	}
	ready, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := g.lock.Ready(ready); err != nil {
		return nil, err
	}
	select {
	case <-g.bare.all:
	case <-ready.Done():
		return nil, fmt.Errorf("connect the bare mesh: %w", ready.Err())
	}
	for _, addr := range cfg.Echo[1:] {
		conn, err := new(net.Dialer).DialContext(ready, "tcp", addr)
		if err != nil {
			return nil, err
		}
		stops.close(conn)
		g.echoes = append(g.echoes, conn)
	}
	return g, nil
}

// serveMultiphase is a process of a group. It takes the hot resource for as many
// nanoseconds as a line of its input says, and answers how often it did.
func serveMultiphase(ctx context.Context, config string) error {
	var cfg groupConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	echoes, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Echo[cfg.Rank])
	if err != nil {
		return err
	}
	go echo(echoes)
	l, _, err := cfg.serve(ctx, answerAll{}, new(stopList))
	for err == nil {
		var d int64
		if _, err = fmt.Scanln(&d); err != nil {
			break // the bench has ended
		}
		var n int
		n, err = takeHot(ctx, l, time.Duration(d))
		fmt.Println(n)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// takeHot has workers of this process all take the same resource, over and over.
func takeHot(ctx context.Context, l locks.Locker, d time.Duration) (int, error) {
	const workers = 32
	served, _, err := loop(ctx, d, workers, func(ctx context.Context, _ int) error { return pair(ctx, l, "bench/hot") })
	return sum(served), err
}

// messageBytes is about the size of a message of the lock.
const messageBytes = 20

func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(struct{ io.Writer }{conn}, conn) }() // without splice: a plain server
	}
}
