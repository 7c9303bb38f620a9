package raftnode

import (
	"log/slog"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/must"
	"locklab/locks/clock"
	"locklab/locks/raftlock/wire"
)

// stalledClock lets a renewal be applied, and time pass, between a reading of the clock
// and its use, whenever the hub's mutex allows it.
type stalledClock struct {
	clock.Clock
	now    time.Time
	hub    *hub
	during func()
}

func (c *stalledClock) Now() time.Time {
	read := c.now
	if c.during != nil && c.hub.mu.TryLock() {
		c.during()
		c.hub.mu.Unlock()
	}
	return read
}

func TestASessionRenewedWhileItsWatcherWaitedKeepsAFullLease(t *testing.T) {
	const lease = time.Second
	clk := &stalledClock{Clock: clock.System(), now: time.Unix(1_000, 0)}
	h := newHub(Config{Name: "a", Clock: clk, Log: slog.New(slog.DiscardHandler)})
	clk.hub = h
	var proposed []wire.Request
	h.propose = func(data []byte) {
		var e entry
		must.Do(t, json.Unmarshal(data, &e))
		proposed = append(proposed, e.Requests...)
	}
	const session = 1
	h.state.Apply(1, []wire.Request{{Kind: wire.Open, Client: "client", Lease: lease}})
	h.serve()
	h.watch()

	renewed := func() {
		clk.now = clk.now.Add(10 * lease)
		h.state.Apply(2, []wire.Request{{Kind: wire.Renew, Session: session}})
	}
	clk.during = renewed
	h.watch()
	if clk.during = nil; clk.now.Equal(time.Unix(1_000, 0)) {
		renewed() // the mutex was held while the clock was read: it comes after the tick
	}
	h.watch()
	clk.now = clk.now.Add(lease / 2)
	h.watch()
	for _, c := range proposed {
		if c.Kind == wire.Expire {
			t.Error("proposed to expire a session half a lease after it was renewed")
		}
	}
	clk.now = clk.now.Add(lease)
	h.watch()
	if len(proposed) == 0 || proposed[len(proposed)-1].Kind != wire.Expire {
		t.Errorf("proposed %+v for a session whose lease is over, want that it expires", proposed)
	}
}
