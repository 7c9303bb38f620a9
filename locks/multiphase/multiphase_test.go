package multiphase_test

import (
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"locklab/locks"
	"locklab/locks/locktest"
	"locklab/locks/multiphase"
	"locklab/locks/multiphase/core"
	"locklab/verify/peertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cluster starts n peers in this process, connected over loopback TCP. change may
// be nil.
func cluster(tb testing.TB, n int, change func(*multiphase.Config)) []multiphase.Locker {
	tb.Helper()
	cfgs := peertest.Configs(tb, n, multiphase.DefaultOptions())
	for i := range cfgs {
		if change != nil {
			change(&cfgs[i])
		}
	}
	return peertest.StartAll(tb, cfgs, multiphase.New)
}

// TestConforms: in clusters of all sizes, and with all rules that need no fault.
func TestConforms(t *testing.T) {
	for text, sizes := range map[string][]int{
		"multiphase": {1, 2, 3, 5}, "multiphase:fair=off": {3}, "multiphase:view=off": {3}, "multiphase:cohort,cohort=2": {3},
	} {
		for _, n := range sizes {
			t.Run(fmt.Sprintf("%s, %d peers", text, n), func(t *testing.T) {
				options := locktest.Options(t, multiphase.ParseOptions, text)
				locktest.Run(t, locktest.Subject{New: func(tb testing.TB) []locks.Locker {
					return peertest.Lockers(cluster(tb, n, func(c *multiphase.Config) { c.Options = options }))
				}})
			})
		}
	}
}

// TestMessagesPerAcquisition: an acquisition of a free lock, with its release, takes three messages for each
// other peer, no more and no less.
func TestMessagesPerAcquisition(t *testing.T) {
	for _, n := range []int{2, 3, 5} {
		all := cluster(t, n, nil)
		const rounds = 10
		for range rounds {
			for i, l := range all {
				// Each takes another resource, since a release may still be under way.
				locktest.Release(t, locktest.Acquire(t, l, fmt.Sprintf("counted-%d", i)))
			}
		}
		want := uint64(rounds * n * 3 * (n - 1))
		sum := func() (sent uint64) {
			for _, l := range all {
				sent += l.MessagesSent()
			}
			return sent
		}
		locktest.Eventually(t, "all answers are sent", func() bool { return sum() >= want })
		if got := sum(); got != want {
			t.Errorf("%d acquisitions among %d peers took %d messages, want %d", rounds*n, n, got, want)
		}
	}
}

func TestOptions(t *testing.T) {
	o := locktest.Options(t, multiphase.ParseOptions, "multiphase:rule=literal,fair=off,view=off,rounds=off")
	if o.Rules != (core.Options{Rule: core.RuleLiteral}) {
		t.Errorf("got %+v", o)
	}
	if got := locktest.Options(t, multiphase.ParseOptions, "multiphase"); got != multiphase.DefaultOptions() || got.String() != "multiphase:fair=on,rounds=on,rule=flow,view=on" {
		t.Errorf("got %v", got)
	}
	if locktest.Options(t, multiphase.ParseOptions, o.String()) != o {
		t.Errorf("%v is not what it says", o)
	}
	locktest.Specs(t, multiphase.ParseOptions, map[string]string{
		"multiphase:rule=x": "flow, literal", "multiphase:nosuch": "unknown variant", "multiphase:cohort=4": "unknown option",
		"multiphase:quorum,rule=flow": "unknown option", "multiphase:quorum,ttl=1ms": "want 50ms", "multiphase:ttl=1s": "unknown option",
		"multiphase:quorum,cohort=2000": "from 0 to 1024", "multiphase:fair=1": "on or off",
	})
}
