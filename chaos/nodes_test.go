package chaos_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos"
	"locklab/locks/clock"
)

// idle are processes whose agent says that it did what it did not.
type idle struct {
	*nodes
	ignored string
}

func (i idle) Kill(ctx context.Context, node string) error {
	if i.ignored == "kill" {
		return nil
	}
	return i.nodes.Kill(ctx, node)
}

func (i idle) Resume(ctx context.Context, node string) error {
	if i.ignored == "resume" {
		return nil
	}
	return i.nodes.Resume(ctx, node)
}

func (i idle) Restart(ctx context.Context, node string, wipe bool, delay time.Duration) error {
	if i.ignored == "restart" {
		return nil
	}
	return i.nodes.Restart(ctx, node, wipe, delay)
}

// TestFaultsOfProcessesAreNotBelieved: what an agent says that it did is no proof.
func TestFaultsOfProcessesAreNotBelieved(t *testing.T) {
	for ignored, c := range map[string]struct {
		fault, why string
		states     []string
	}{
		"kill":    {"kill", "node master-a is ready, not ended", []string{"asked", "unproven", "heal-asked", "ended"}},
		"resume":  {"pause", "node master-a is paused, not ready", []string{"asked", "began", "heal-asked", "unproven"}},
		"restart": {"kill", "node master-a is ended, not ready", []string{"asked", "began", "heal-asked", "unproven"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			config, _, n, rec := stage()
			config.Nodes = idle{n, ignored}
			ledger := run(t, config, t.Context(), "  - {at: 1s, for: 1s, id: f, fault: "+c.fault+", target: node:master-a}", 10*time.Second)
			if len(ledger) != 1 || ledger.Proven() || !strings.Contains(ledger[0].Why, c.why) {
				t.Errorf("%s ignored: ledger %+v, want %q", ignored, ledger, c.why)
			}
			if got := rec.states("f"); !slices.Equal(got, c.states) {
				t.Errorf("%s ignored: recorded %v, want %v", ignored, got, c.states)
			}
		})
	}
}

// TestAPauseThatSomebodyElseEndsIsNotProven: it was not in force until it was healed.
func TestAPauseThatSomebodyElseEndsIsNotProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _, n, _ := stage()
		clock.System().AfterFunc(1500*time.Millisecond, func() { _ = n.set("continue", "master-a", chaos.NodeReady) })
		ledger := run(t, config, t.Context(), "  - {at: 1s, for: 1s, fault: pause, target: node:master-a}", 10*time.Second)
		if ledger.Proven() || !strings.Contains(ledger[0].Why, "node master-a is ready, not paused") {
			t.Errorf("ledger %+v", ledger)
		}
	})
}
