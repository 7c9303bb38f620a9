package raftnode

import (
	"log/slog"
	"testing"
	"time"

	"locklab/locks/clock"
	"locklab/locks/raftlock/fsm"
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
	h := newHub("a", 1, 1, clk, nil, slog.New(slog.DiscardHandler))
	clk.hub = h
	var proposed []fsm.Command
	h.propose = func(data []byte) {
		entry, err := fsm.DecodeEntry(data, nil)
		if err != nil {
			t.Fatal(err)
		}
		proposed = append(proposed, entry.Commands...)
	}
	h.apply(1, fsm.AppendEntry(nil, fsm.Entry{Commands: []fsm.Command{{Kind: fsm.KindOpen, Client: "c", Lease: lease}}}))
	session := h.state.Sessions()[0].ID
	h.serve()

	renewed := func() {
		clk.now = clk.now.Add(10 * lease)
		h.state.Apply(h.state.Index()+1, []fsm.Command{{Kind: fsm.KindRenew, Session: session}})
	}
	clk.during = renewed
	h.tick("a")
	if clk.during = nil; clk.now.Equal(time.Unix(1_000, 0)) {
		renewed() // the mutex was held while the clock was read: it comes after the tick
	}
	h.tick("a")
	clk.now = clk.now.Add(lease / 2)
	h.tick("a")
	for _, c := range proposed {
		if c.Kind == fsm.KindExpire {
			t.Error("proposed to expire a session half a lease after it was renewed")
		}
	}
	clk.now = clk.now.Add(lease)
	h.tick("a")
	if len(proposed) == 0 || proposed[len(proposed)-1].Kind != fsm.KindExpire {
		t.Errorf("proposed %+v for a session whose lease is over, want that it expires", proposed)
	}
}
