package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"locklab/internal/must"
	"locklab/workloads/history"
)

func TestEventsBeforeAKillAreNotLost(t *testing.T) {
	_, c := newAgent(t, nil)
	ctx := t.Context()
	const many = 3000
	events := collect(t, c)
	must.Do(t, c.Start(ctx, NodeSpec{Name: "own-1", Role: "own", Settings: settings(t, ownSettings{Events: many})}))
	must.Do(t, c.Stop(ctx, "own-1")) // writes what it still has
	must.Do(t, c.Restart(ctx, "own-1", false))
	must.Do(t, c.Kill(ctx, "own-1")) // cuts what it is writing
	all := events.drained()
	var first []uint64
	for _, e := range all[:slices.IndexFunc(all, func(e history.Event) bool { return e.State == "stopped" })] {
		if e.Token != 0 {
			first = append(first, e.Token)
		}
	}
	if len(first) != many || !slices.IsSorted(first) {
		t.Errorf("%d events arrived before the end of the node, want %d in order", len(first), many)
	}
	if last := all[len(all)-1]; last.State != "killed" {
		t.Errorf("the last event is %+v", last)
	}
}

// cutter passes connections on and cuts each after so many bytes of the answer.
type cutter struct {
	net.Listener
	to    string
	after int64
	wg    sync.WaitGroup
	mu    sync.Mutex
	cuts  int
}

func newCutter(t *testing.T, to string, after int64) *cutter {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must.Do(t, err)
	c := &cutter{Listener: l, to: strings.TrimPrefix(to, "http://"), after: after}
	c.wg.Go(c.run)
	t.Cleanup(func() { _ = l.Close(); c.wg.Wait() })
	return c
}

func (c *cutter) run() {
	for {
		in, err := c.Accept()
		if err != nil {
			return
		}
		out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		c.wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
		c.wg.Go(func() {
			if n, _ := io.Copy(in, io.LimitReader(out, c.after)); n == c.after {
				c.mu.Lock()
				c.cuts++
				c.mu.Unlock()
			}
			_ = in.Close()
			_ = out.Close()
		})
	}
}

func TestEventsContinueOverReconnects(t *testing.T) {
	a, direct := newAgent(t, nil)
	ctx := t.Context()
	cut := newCutter(t, a.URL(), 60_000)
	c := NewClient("http://"+cut.Addr().String(), a.cfg.Token)
	defer c.Close()
	events := collect(t, c)
	const many = 5000
	must.Do(t, direct.Start(ctx, NodeSpec{Name: "own-1", Role: "own", Settings: settings(t, ownSettings{Events: many})}))
	must.Do(t, direct.Stop(ctx, "own-1"))
	all := events.drained() // the collector checks the numbers
	next := uint64(1)
	for _, e := range all {
		if e.Token != 0 {
			if e.Token != next {
				t.Fatalf("event %d came instead of %d", e.Token, next)
			}
			next++
		}
	}
	if next != many+1 {
		t.Errorf("%d events came, want %d", next-1, many)
	}
	cut.mu.Lock()
	defer cut.mu.Unlock()
	if cut.cuts < 3 {
		t.Errorf("only %d connections were cut: the test tests nothing", cut.cuts)
	}
}

func TestLostEventsAreReported(t *testing.T) {
	l := newEventLog(20_000)
	for range 1000 {
		l.record(history.Event{Kind: history.KindRoom, Order: strings.Repeat("x", 200)})
	}
	count := l.nextNumber()
	if _, _, err := l.read(count); !errors.Is(err, ErrEventsLost) || !strings.Contains(err.Error(), "stays away") || count < 50 || count > 100 {
		t.Errorf("%d events came before the loss, want what fits into 20 kB: %v", count, err)
	}
	if _, _, err := l.read(0); !errors.Is(err, ErrEventsLost) {
		t.Errorf("what the follower has had: %v", err)
	}
	_, c := newAgent(t, nil)
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own", Settings: settings(t, ownSettings{Garbage: true})}))
	f := c.Follow(t.Context(), func(history.Event) error { return nil })
	<-f.Done()
	if err := f.Err(); !errors.Is(err, ErrEventsLost) || !strings.Contains(err.Error(), "decode event: jsontext: invalid character") {
		t.Error(err)
	}
}

func TestFollowerEndsWithTheHandlersError(t *testing.T) {
	_, c := newAgent(t, nil)
	must.Do(t, c.Start(t.Context(), NodeSpec{Name: "own-1", Role: "own"}))
	full := errors.New("disk full")
	f := c.Follow(t.Context(), func(history.Event) error { return full })
	<-f.Done()
	if err := f.Err(); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := f.Drain(t.Context()); !errors.Is(err, full) {
		t.Error(err)
	}
}
