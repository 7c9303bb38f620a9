package multiphase_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
)

// patience ends a test that hangs.
const patience = 30 * time.Second

// cluster starts n peers in this process, connected over loopback TCP. change may
// be nil.
func cluster(tb testing.TB, n int, change func(*multiphase.Config)) []*multiphase.Locker {
	tb.Helper()
	listeners := make([]net.Listener, n)
	for i := range n {
		var err error
		if listeners[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			tb.Fatal(err)
		}
	}
	var all []*multiphase.Locker
	for i := range n {
		cfg := multiphase.Config{ID: fmt.Sprintf("p%d", i), Rank: i, Cluster: tb.Name(), Listener: listeners[i]}
		for j := range n {
			if j != i {
				cfg.Peers = append(cfg.Peers, multiphase.Peer{ID: fmt.Sprintf("p%d", j), Rank: j, Addr: listeners[j].Addr().String()})
			}
		}
		if change != nil {
			change(&cfg)
		}
		l, err := multiphase.New(cfg)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = l.Close() })
		all = append(all, l)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, l := range all {
		if err := l.Ready(ctx); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

func lockers(all []*multiphase.Locker) []locks.Locker {
	var out []locks.Locker
	for _, l := range all {
		out = append(out, l)
	}
	return out
}

func TestConforms(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5} {
		t.Run(fmt.Sprintf("%d peers", n), func(t *testing.T) {
			locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
				return lockers(cluster(tb, n, nil))
			}})
		})
	}
}
