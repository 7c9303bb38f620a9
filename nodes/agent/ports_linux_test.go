package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"

	"locklab/internal/must"
	"locklab/locks/locktest"

	"golang.org/x/sys/unix"
)

func TestParallelAgentsReserveDifferentPorts(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for range 8 {
		_, c := newAgent(t, nil)
		wg.Go(func() {
			for i := range 20 {
				addrs, err := c.Reserve(t.Context(), fmt.Sprintf("own-%d", i), "own")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seen[addrs["http"]] {
					t.Errorf("%s was given out twice", addrs["http"])
				}
				seen[addrs["http"]] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestAddressOfADeadNodeIsKept(t *testing.T) {
	_, c := newAgent(t, nil)
	ctx := t.Context()
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own"}))
	addr := netip.MustParseAddrPort(state(t, c, "own-1").Addrs["http"])
	dial(t, addr.String())
	must.Do(t, c.Kill(ctx, "own-1"))
	taken := func() bool {
		held, _, err := bindPort(addr.Addr(), int(addr.Port()))
		if err == nil {
			_ = held.Close()
		}
		return errors.Is(err, unix.EADDRINUSE)
	}
	locktest.Eventually(t, "held", taken)
	if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr.String()); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("a dead node was dialed: %v", err)
		if err == nil {
			_ = conn.Close()
		}
	}
	must.Do(t, c.Restart(ctx, "own-1", RestartOptions{}))
	dial(t, addr.String())
	must.Do(t, c.Reset(ctx))
	locktest.Eventually(t, "free", func() bool { return !taken() })
}
