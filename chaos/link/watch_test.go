package link_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/chaos/link"
	"locklab/locks/clock"
)

// chatter is connections that always have something on its way, both ways, until the
// test ends. A connection that is reset is made anew.
func chatter(t *testing.T, addr string) {
	t.Helper()
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
				if err == nil {
					talk(ctx, conn)
				}
			}
		})
	}
	t.Cleanup(func() { stop(); wg.Wait() })
}

// talk ends with the connection or with ctx.
func talk(ctx context.Context, conn net.Conn) {
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer func() { _ = conn.Close() }()
	wg.Go(func() {
		_, _ = io.Copy(io.Discard, conn) // ends with it
		_ = conn.Close()
	})
	timer := clock.System().NewTimer(0)
	defer timer.Stop()
	for {
		<-timer.C()
		if _, err := conn.Write(make([]byte, 64)); err != nil {
			return
		}
		timer.Reset(time.Millisecond)
	}
}

// passages wants one watch to see traffic in the direction, if there is to be any.
func passages(t *testing.T, h *link.Host, i link.Impairment, arrives bool) (seen []link.Passage) {
	t.Helper()
	eventually(t, "traffic", func() bool {
		if err := h.Watch(i); err != nil {
			t.Fatal(err)
		}
		timer := clock.System().NewTimer(40 * time.Millisecond)
		defer timer.Stop()
		<-timer.C()
		var err error
		if seen, err = h.Seen(i.ID); err != nil {
			t.Fatal(err)
		}
		for _, p := range seen {
			if i.Direction == link.Both || i.Direction == p.Way {
				return true
			}
		}
		return !arrives
	})
	return seen
}

// TestDataLinksSayWhatPassed: what the workload's connections saw contradicts an
// impairment that is not there, and never one that is, under live traffic.
func TestDataLinksSayWhatPassed(t *testing.T) {
	delay := link.Delay{Base: time.Millisecond, Jitter: 100 * time.Microsecond}
	for name, c := range map[string]struct {
		impairment link.Impairment
		why        string
	}{
		"hold":      {link.Impairment{Kind: link.Hold, Direction: link.Both}, "while the link was to be cut"},
		"hold up":   {link.Impairment{Kind: link.Hold, Direction: link.Up}, "from host a to redis-1 while the link was to be cut"},
		"drop down": {link.Impairment{Kind: link.Drop, Direction: link.Down}, "from redis-1 to host a while the link was to be cut"},
		"reset":     {link.Impairment{Kind: link.Reset, Direction: link.Both}, "while the link was to be cut"},
		"latency":   {link.Impairment{Kind: link.Latency, Direction: link.Up, Delay: 5 * time.Millisecond}, "sooner than with the latency"},
		"bandwidth": {link.Impairment{Kind: link.Bandwidth, Direction: link.Both, BytesPerS: 10_000}, "sooner than with the bandwidth"},
	} {
		t.Run(name, func(t *testing.T) {
			i := c.impairment
			i.ID, i.ToHosts = "fault", []string{"b"}
			h := newHost(t, "a")
			chatter(t, open(t, h, link.Spec{Upstream: serve(t, echo), ToNode: "redis-1", Up: delay, Down: delay}))
			err := i.Contradicted("a", passages(t, h, i, true))
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Fatalf("without it: %v, want %q", err, c.why)
			}
			for range 5 {
				passages(t, h, i, true) // connections that a cut would keep from being made are there
				if err := h.Apply(i); err != nil {
					t.Fatal(err)
				}
				if err := i.Contradicted("a", passages(t, h, i, i.Kind != link.Reset)); err != nil {
					t.Fatalf("with it: %v", err)
				}
				heal(t, h, i.ID)
			}
			elsewhere := i
			elsewhere.ToHosts = []string{"c"}
			if err := elsewhere.Contradicted("a", passages(t, h, elsewhere, true)); err != nil {
				t.Fatalf("of other hosts: %v", err)
			}
		})
	}
}

func TestProbesAreNoData(t *testing.T) {
	a, b := newHost(t, "a"), newHost(t, "b")
	if err := a.Probe(link.Peer{Host: "b", Echo: b.EchoAddr()}); err != nil {
		t.Fatal(err)
	}
	i := link.Impairment{ID: "fault", Kind: link.Hold, Direction: link.Both}
	if err := a.Watch(i); err != nil {
		t.Fatal(err)
	}
	answered := func() uint64 { return a.Probes().Peers[0].Answered }
	before := answered()
	eventually(t, "probes", func() bool { return answered() > before+1 })
	if seen, err := a.Seen(i.ID); err != nil || len(seen) > 0 {
		t.Fatalf("seen %+v, %v", seen, err)
	}
	if _, err := a.Seen(i.ID); err == nil {
		t.Fatal("a watch that has ended is seen again")
	}
}
