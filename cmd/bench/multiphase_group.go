package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"locklab/locks"
	"locklab/locks/mesh"
	"locklab/locks/multiphase"
)

// group is n processes, this one included.
type group struct {
	lock   *multiphase.Locker
	bare   *bareRounds
	mesh   *mesh.Mesh
	echoes []net.Conn // one to each other process
	procs  []*exec.Cmd
	stdin  []io.WriteCloser
	stdout []*bufio.Reader
}

// groupConfig is what a process of a group is told: the addresses of all of them.
type groupConfig struct {
	Rank int
	Lock []string
	Bare []string
	Spec string // of the lock
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

func (c groupConfig) serve(lock, bare net.Listener, handler mesh.Handler) (*multiphase.Locker, *mesh.Mesh, error) {
	spec, err := locks.ParseSpec(c.Spec)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close(), bare.Close())
	}
	options, err := multiphase.ParseOptions(spec)
	if err != nil {
		return nil, nil, errors.Join(err, lock.Close(), bare.Close())
	}
	l, err := multiphase.New(multiphase.Config{
		ID: fmt.Sprint(c.Rank), Rank: c.Rank, Cluster: "bench", Peers: c.peers(c.Lock), Listener: lock, Options: options,
	})
	if err != nil {
		return nil, nil, errors.Join(err, bare.Close())
	}
	m, err := mesh.New(mesh.Config{
		Self: mesh.Peer{ID: fmt.Sprint(c.Rank), Rank: c.Rank}, Cluster: "bench", Protocol: "bare",
		Peers: c.peers(c.Bare), Listener: bare, Handler: handler,
	})
	if err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return l, m, nil
}

func startGroup(ctx context.Context, n int, spec string) (_ *group, err error) {
	g := &group{bare: &bareRounds{all: make(chan struct{}), peers: n - 1}}
	defer func() {
		if err != nil {
			g.stop()
		}
	}()
	cfg := groupConfig{Spec: spec}
	var listeners [][]*net.TCPListener
	for range n {
		var three []*net.TCPListener // lock, bare, echo
		for range 3 {
			l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
			if err != nil {
				return nil, err
			}
			three = append(three, l)
		}
		listeners = append(listeners, three)
		cfg.Lock = append(cfg.Lock, three[0].Addr().String())
		cfg.Bare = append(cfg.Bare, three[1].Addr().String())
	}
	for cfg.Rank = 1; cfg.Rank < n; cfg.Rank++ {
		if err := g.spawn(ctx, cfg, listeners[cfg.Rank]); err != nil {
			return nil, err
		}
	}
	cfg.Rank = 0
	_ = listeners[0][2].Close()                                               // nobody asks this process for an echo
	g.lock, g.mesh, err = cfg.serve(listeners[0][0], listeners[0][1], g.bare) //nolint:contextcheck // they live until stop
	if err != nil {
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
	var dialer net.Dialer
	for _, three := range listeners[1:] {
		conn, err := dialer.DialContext(ready, "tcp", three[2].Addr().String())
		if err != nil {
			return nil, err
		}
		g.echoes = append(g.echoes, conn)
	}
	return g, nil
}

// spawn starts this program again with the listeners as files 3, 4 and 5.
func (g *group) spawn(ctx context.Context, cfg groupConfig, listeners []*net.TCPListener) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "peer", "multiphase", string(text))
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // as the lab runs its masters
	for _, l := range listeners {
		f, err := l.File()
		if err != nil {
			return err
		}
		defer func() { _, _ = f.Close(), l.Close() }() // the process has its own by then
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.procs, g.stdin, g.stdout = append(g.procs, cmd), append(g.stdin, stdin), append(g.stdout, bufio.NewReader(stdout))
	return nil
}

func (g *group) stop() {
	for _, conn := range g.echoes {
		_ = conn.Close()
	}
	if g.lock != nil {
		_ = g.lock.Close()
		_ = g.mesh.Close()
	}
	for i, p := range g.procs {
		_ = g.stdin[i].Close() // the process ends when its input does
		_ = p.Wait()
	}
}

// servePeerMultiphase is a process of a group.
func servePeerMultiphase(args []string) {
	err := func() error {
		var cfg groupConfig
		if err := json.Unmarshal([]byte(args[0]), &cfg); err != nil {
			return err
		}
		var listeners []net.Listener
		for fd := range 3 {
			l, err := net.FileListener(os.NewFile(uintptr(3+fd), "listener"))
			if err != nil {
				return err
			}
			listeners = append(listeners, l)
		}
		l, m, err := cfg.serve(listeners[0], listeners[1], answerAll{})
		if err != nil {
			return err
		}
		go echo(listeners[2])
		err = serveHot(l, os.Stdin, os.Stdout)
		return errors.Join(err, l.Close(), m.Close(), listeners[2].Close())
	}()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench peer multiphase: %v\n", err)
	}
}

// messageBytes is about the size of a message of the lock.
const messageBytes = 20

func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			buf := make([]byte, messageBytes)
			for {
				if _, err := io.ReadFull(conn, buf); err != nil {
					return
				}
				if _, err := conn.Write(buf); err != nil {
					return
				}
			}
		}()
	}
}
