package chaos_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOneFaultOfADiskAtATime: and of a clock, and of a process. Who comes while another one has it waits for a
// moment, and then is not proven, and the other one is left as it is.
func TestOneFaultOfADiskAtATime(t *testing.T) {
	const broken = " is broken already, by "
	for name, c := range map[string]struct{ timeline, why, calls string }{
		"a slow disk that gets full": {
			`
  - {at: 1s, for: 6s, fault: slow-disk, target: node:redis-a, delay: 100ms}
  - {at: 2s, for: 1s, fault: full-disk, target: leader}`,
			"the disk of node redis-a" + broken + "slow-disk-1", "disk redis-a 0s, disk redis-a 100ms",
		},
		"two clocks": {
			`
  - {at: 1s, for: 6s, fault: clock-step, target: node:redis-a, by: 1m}
  - {at: 2s, for: 1s, fault: clock-drift, target: leader, rate: 2}`,
			"the clock of node redis-a" + broken + "clock-step-1", "clock redis-a 0s, clock redis-a 1m0s",
		},
		"a clock and a disk": {
			`
  - {at: 1s, for: 6s, fault: clock-step, target: node:redis-a, by: 1m}
  - {at: 2s, for: 1s, fault: slow-disk, target: leader, delay: 100ms}`,
			"", "clock redis-a 0s, clock redis-a 1m0s, disk redis-a 0s, disk redis-a 100ms",
		},
		"two kills": {
			`
  - {at: 1s, for: 4s, fault: kill, target: node:redis-a}
  - {at: 2s, for: 4s, fault: kill, target: leader}`,
			"the process of node redis-a" + broken + "kill-1", "kill redis-a, restart wipe=false delay=0s redis-a",
		},
		"one as soon as the other ends": {
			`
  - {at: 1s, for: 2s, fault: slow-disk, target: node:redis-a, delay: 100ms}
  - {at: 3s, for: 2s, fault: slow-disk, target: node:redis-a, delay: 300ms}`,
			"", "disk redis-a 0s, disk redis-a 0s, disk redis-a 100ms, disk redis-a 300ms",
		},
		"one that waits for the other": {
			`
  - {at: 1s, for: 2s, fault: slow-disk, target: node:redis-a, delay: 100ms}
  - {at: 2500ms, for: 2s, fault: slow-disk, target: leader, delay: 300ms}`,
			"", "disk redis-a 0s, disk redis-a 0s, disk redis-a 100ms, disk redis-a 300ms",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				s.leader = func(context.Context) (string, error) { return "redis-a", nil }
				ledger, err := s.run(t.Context(), t, c.timeline, 10*time.Second)
				if err != nil || len(ledger) != 2 || !ledger[0].Proven || ledger[1].Proven != (c.why == "") || !strings.Contains(ledger[1].Why, c.why) {
					t.Errorf("ledger %+v, %v: want the second one to say %q", ledger, err, c.why)
				}
				if got := s.called(); got != c.calls {
					t.Errorf("called %s, want %s", got, c.calls)
				}
				for _, e := range s.events {
					if c.why != "" && len(ledger) == 2 && e.ID == ledger[1].ID && len(e.Nodes) > 0 {
						t.Errorf("it hit nothing, and yet %+v is recorded", e)
					}
				}
			})
		})
	}
}
