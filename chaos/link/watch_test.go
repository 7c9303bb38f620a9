package link_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/chaos/link"
	"locklab/locks/clock"
	"locklab/locks/locktest"
)

// chatter is connections that always have something on its way, both ways, until the
// test ends. A connection that is reset is made anew. It counts what was sent.
func chatter(t *testing.T, addr string) (sent func() int64) {
	t.Helper()
	var count atomic.Int64
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
				if err == nil {
					talk(ctx, conn, &count)
				}
			}
		})
	}
	t.Cleanup(func() { stop(); wg.Wait() })
	return count.Load
}

// talk ends with the connection or with ctx.
func talk(ctx context.Context, conn net.Conn, count *atomic.Int64) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	wg.Go(func() {
		_, _ = io.Copy(io.Discard, conn) // ends with it
		_ = conn.Close()
	})
	for {
		if _, err := conn.Write(make([]byte, 64)); err != nil {
			return
		}
		count.Add(1)
		_ = clock.Sleep(ctx, time.Millisecond)
	}
}

// TestDataLinksSayWhatPassed: what the workload's connections saw contradicts an
// impairment that is not there, and never one that is, under live traffic.
func TestDataLinksSayWhatPassed(t *testing.T) {
	delay := link.Latency{Delay: time.Millisecond, Jitter: 100 * time.Microsecond}
	for name, c := range map[string]struct {
		impairment link.Impairment
		why        string
	}{
		"hold":      {link.Impairment{Effect: new(link.Hold), Direction: link.Both}, "while the link was to be cut"},
		"hold up":   {link.Impairment{Effect: new(link.Hold), Direction: link.Up}, "from host a to redis-1 while the link was to be cut"},
		"drop down": {link.Impairment{Effect: new(link.Drop), Direction: link.Down}, "from redis-1 to host a while the link was to be cut"},
		"reset":     {link.Impairment{Effect: new(link.Reset), Direction: link.Both}, "while the link was to be cut"},
		"latency":   {link.Impairment{Direction: link.Up, Effect: &link.Latency{Delay: 5 * time.Millisecond}}, "sooner than with the latency"},
		"bandwidth": {link.Impairment{Direction: link.Both, Effect: &link.Bandwidth{BytesPerS: 10_000}}, "sooner than with the bandwidth"},
	} {
		t.Run(name, func(t *testing.T) {
			i := c.impairment
			i.ID, i.ToHosts = "fault", []string{"b"}
			h := newHost(t, "a")
			sent := chatter(t, open(t, h, link.Spec{Upstream: serve(t, echo), ToNode: "redis-1", Up: delay, Down: delay}))
			traffic := func() {
				before := sent()
				locktest.Eventually(t, "traffic", func() bool { return sent() > before+20 })
			}
			var contradicted string
			locktest.Eventually(t, "an impairment that is not there is contradicted", func() bool {
				ask := h.Pretend(i)
				traffic()
				contradicted = ask()
				return contradicted != ""
			})
			if !strings.Contains(contradicted, c.why) {
				t.Fatalf("without it: %q, want %q", contradicted, c.why)
			}
			for n := range 5 {
				traffic() // connections that a cut would keep from being made are there
				i.ID = fmt.Sprint(n)
				apply(t, h, i)
				if name != "reset" && n > 0 {
					traffic()
				}
				heal(t, h, i.ID)
			}
		})
	}
}

func TestProbesAreNoData(t *testing.T) {
	a, b := newHost(t, "a"), newHost(t, "b")
	if _, err := a.Open(link.Spec{Name: "probe", ToHost: "b", Upstream: b.EchoAddr()}); err != nil {
		t.Fatal(err)
	}
	contradicted := a.Pretend(link.Impairment{ID: "fault", Effect: new(link.Hold), Direction: link.Both})
	answered := func() uint64 { return a.Probes().Peers[0].Answered }
	before := answered()
	locktest.Eventually(t, "probes", func() bool { return answered() > before+1 })
	if why := contradicted(); why != "" {
		t.Error(why)
	}
}
