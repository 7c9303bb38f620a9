package chaos_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos"
	"locklab/chaos/fault"
	"locklab/internal/must"
)

func byHand(t *testing.T, text string) fault.Fault {
	t.Helper()
	f, err := fault.Parse([]byte(text))
	must.Do(t, err)
	return f
}

// TestByHand: what is begun and healed by hand is proven as a scenario's faults are, lasts
// until somebody heals it, and at the end everything is healed.
func TestByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.hold("master-c")
		h := chaos.NewHand(t.Context(), s.config)
		begin := func(text string) string {
			t.Helper()
			id, err := h.Begin(byHand(t, text))
			must.Do(t, err)
			return id
		}
		refused := func(why, text string) {
			t.Helper()
			if _, err := h.Begin(byHand(t, text)); !errors.Is(err, chaos.ErrRefused) || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v, want %q", text, err, why)
			}
		}
		time.Sleep(2 * time.Second) // of virtual time: probes have to know what is usual
		cut := begin(`{"fault": "partition", "between": ["zone:a", "others"], "mode": "hold"}`)
		holder := begin("{fault: kill, target: holder}")
		restart := begin("{fault: restart, target: node:redis-a}")
		time.Sleep(10 * time.Minute)
		open := ""
		for _, e := range h.Open() {
			open += fmt.Sprintf("%s %s %s %s; ", e.ID, e.Fault, e.Target, e.State)
		}
		if open != "partition-1 partition zone:a <-> others began; kill-2 kill holder (master-c) began; " {
			t.Errorf("open %s", open)
		}
		if got := s.states(restart); got != "asked began heal-asked ended" {
			t.Errorf("the restart was recorded as %s", got)
		}
		refused("is broken already, by partition-1", "{fault: latency, between: [zones], delay: 50ms}")
		refused("the holder is broken already, by kill-2", "{fault: pause, target: holder}")
		refused("node master-c is broken already, by kill-2", "{fault: pause, target: node:master-c}")
		refused("no node", "{fault: pause, target: node:nobody}")
		refused("cannot be begun by hand", "{fault: clock-step, target: node:redis-a, by: 5s}")
		if err := h.Heal("partition-7"); !errors.Is(err, chaos.ErrRefused) {
			t.Error(err)
		}
		if err := h.Heal(cut); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if got := s.states(cut); got != "asked began heal-asked ended" {
			t.Errorf("the cut was recorded as %s", got)
		}
		slow := begin("{fault: latency, between: [zones], delay: 50ms}")
		time.Sleep(10 * time.Second)
		if err := h.Heal(""); err != nil {
			t.Error(err)
		}
		time.Sleep(10 * time.Second)
		if len(h.Open()) > 0 || s.states(slow) != "asked began heal-asked ended" || s.states(holder) != "asked began heal-asked ended" {
			t.Errorf("open %v; recorded %s and %s", h.Open(), s.states(slow), s.states(holder))
		}
		paused := begin("{fault: pause, target: node:master-a}")
		time.Sleep(time.Second)
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		s.healed(t)
		if got := s.states(paused); got != "asked began heal-asked ended" {
			t.Errorf("the pause was recorded as %s", got)
		}
		if got := s.called(); got != "kill master-c, kill redis-a, pause master-a, restart master-c, restart redis-a, resume master-a" {
			t.Errorf("called %s", got)
		}
		refused("the run is over", "{fault: kill, target: holder}")
	})
}

// TestNothingBeginsOnceTheHandIsClosed, also where both are asked for at once: to plan takes a while among many nodes.
func TestNothingBeginsOnceTheHandIsClosed(t *testing.T) {
	config := newStage().config
	config.Inventory.Nodes = slices.Repeat(config.Inventory.Nodes, 20_000)
	pause := byHand(t, "{fault: pause, target: node:master-a}")
	for range 20 {
		h, begins, begun := chaos.NewHand(t.Context(), config), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(begun)
			close(begins)
			_, _ = h.Begin(pause) // or is refused
		}()
		<-begins
		_ = h.Close()
		if <-begun; len(h.Open()) > 0 {
			t.Fatalf("goes on after the end: %v", h.Open())
		}
	}
}
