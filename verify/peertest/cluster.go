package peertest

import (
	"context"
	"fmt"
	"net"
	"testing"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/peerlock"
	"locklab/locks/peerlock/mesh"
)

// Peer is a lock made with peerlock.
type Peer interface {
	locks.Locker
	locks.MessageCounter
	Ready(ctx context.Context) error
	Peers() []mesh.Status
}

// Configs are the configurations of n peers that listen on loopback.
func Configs[O any](tb testing.TB, n int, options O) []peerlock.Config[O] {
	tb.Helper()
	listeners := make([]net.Listener, n)
	for i := range n {
		listeners[i] = Listen(tb, "127.0.0.1:0")
	}
	var all []peerlock.Config[O]
	for i := range n {
		cfg := peerlock.Config[O]{Options: options, Config: mesh.Config{
			Self: mesh.Peer{ID: fmt.Sprintf("p%d", i), Rank: i}, Cluster: tb.Name(), Listener: listeners[i],
		}}
		for j := range n {
			if j != i {
				cfg.Peers = append(cfg.Peers, mesh.Peer{ID: fmt.Sprintf("p%d", j), Rank: j, Addr: listeners[j].Addr().String()})
			}
		}
		all = append(all, cfg)
	}
	return all
}

// Listen listens, also where somebody listened a moment ago.
func Listen(tb testing.TB, addr string) net.Listener {
	tb.Helper()
	l, err := net.Listen("tcp", addr) //nolint:noctx // loopback
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// StartAll starts peers and waits until they are all ready. They are closed when the
// test ends.
func StartAll[O any, L Peer](tb testing.TB, cfgs []peerlock.Config[O], start func(peerlock.Config[O]) (L, error)) []L {
	tb.Helper()
	var all []L
	for _, cfg := range cfgs {
		all = append(all, Start(tb, cfg, start))
	}
	for _, l := range all {
		if err := l.Ready(locktest.Within(tb)); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

// Start starts one peer, which is closed when the test ends.
func Start[O any, L Peer](tb testing.TB, cfg peerlock.Config[O], start func(peerlock.Config[O]) (L, error)) L {
	tb.Helper()
	l, err := start(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// Again is the configuration for another process of the peer, whose first one is closed.
func Again[O any](tb testing.TB, cfg peerlock.Config[O]) peerlock.Config[O] {
	tb.Helper()
	cfg.Founding = false
	cfg.Listener = Listen(tb, cfg.Listener.Addr().String())
	return cfg
}

// Cuttable puts links before the peers, by the ranks of who dials and who is dialed.
func Cuttable[O any](tb testing.TB, cfgs []peerlock.Config[O]) map[[2]int]*locktest.Link {
	tb.Helper()
	links := map[[2]int]*locktest.Link{}
	for _, cfg := range cfgs {
		for i, p := range cfg.Peers {
			if p.Rank > cfg.Self.Rank {
				link := locktest.NewLink(tb, p.Addr)
				links[[2]int{cfg.Self.Rank, p.Rank}] = link
				cfg.Peers[i].Addr = link.Addr()
			}
		}
	}
	return links
}

// Lockers is all as locktest wants them.
func Lockers[L Peer](all []L) []locks.Locker {
	var out []locks.Locker
	for _, l := range all {
		out = append(out, l)
	}
	return out
}

// AwaitLink waits until l is connected to the peer with the id, or is not.
func AwaitLink(tb testing.TB, l Peer, id string, up bool) {
	tb.Helper()
	what := "connected to " + id
	if !up {
		what = "not " + what
	}
	locktest.Eventually(tb, what, func() bool {
		for _, p := range l.Peers() {
			if p.Peer.ID == id {
				return p.Up == up
			}
		}
		return false
	})
}
