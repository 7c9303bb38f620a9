//go:build unix

package agent

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"

	"locklab/internal/must"
	"locklab/locks/locktest"

	"golang.org/x/sys/unix"
)

func TestParallelAgentsReserveDifferentPorts(t *testing.T) {
	low, high := ephemeralPorts()
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
				_, text, _ := net.SplitHostPort(addrs["http"])
				port, err := strconv.Atoi(text)
				if err != nil || (port >= low && port <= high) {
					t.Errorf("%s is ephemeral", addrs["http"])
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
		fd, err := bindPort(addr.Addr(), int(addr.Port()), false)
		if err == nil {
			_ = unix.Close(fd)
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
	must.Do(t, c.Remove(ctx, "own-1"))
	locktest.Eventually(t, "free", func() bool { return !taken() })
}

func TestServerPortsLieOutsideTheEphemeralRange(t *testing.T) {
	for _, r := range [][2]int{{32768, 60999}, {49152, 65535}, {9000, 20000}, {1, 9999}, {12000, 12000}, {highestPort + 1, highestPort}} {
		p := &ports{low: r[0], high: r[1]}
		var want, got []int
		for port := lowestPort; port <= highestPort; port++ {
			if port < r[0] || port > r[1] {
				want = append(want, port)
			}
		}
		for i := range p.count() {
			got = append(got, p.nth(i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("outside of %v: %d ports from %d to %d, want %d", r, len(got), got[0], got[len(got)-1], len(want))
		}
	}
}

func TestIPv6PortsAreHeldToo(t *testing.T) {
	fd, err := bindPort(netip.IPv6Loopback(), 0, false)
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT) {
		return // a machine without IPv6 has nothing to hold
	}
	must.Do(t, err)
	_ = unix.Close(fd)
}
