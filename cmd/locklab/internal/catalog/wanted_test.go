package catalog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/internal/must"
)

// TestInsteadOfTheUsual: what a scenario changes of the load is told, and nothing that the user set;
// players come no faster than rooms can be made one after the other.
func TestInsteadOfTheUsual(t *testing.T) {
	wants := scenario.Wants{Hold: time.Second, Clients: 50, Resources: 4}
	for _, c := range []struct {
		workload string
		flags    []string
		wants    scenario.Wants
		said     string
		rate     float64
	}{
		{"matchmaking", nil, wants, "locks that are held for 1s", 53},
		{"matchmaking", []string{"--groups=200"}, wants, "locks that are held for 1s", 300},
		{"matchmaking", nil, scenario.Wants{}, "", 300},
		{"matchmaking", []string{"--groups=1", "--seats=1"}, wants, "locks that are held for 1s", 1},
		{"mutex", nil, wants, "locks that are held for 1s and 50 clients in each master and 4 resources", 300},
		{"mutex", []string{"--hold=2s", "--clients=3"}, wants, "4 resources", 300},
		{"handoff", nil, wants, "locks that are held for 1s and 50 clients in each master", 300},
	} {
		for _, w := range catalog.Workloads() {
			if w.Name != c.workload {
				continue
			}
			flags := pflag.NewFlagSet(w.Name, pflag.ContinueOnError)
			load := w.Flags(flags)
			must.Do(t, flags.Parse(c.flags))
			if said := strings.Join(load.Instead(c.wants), " and "); said != c.said {
				t.Errorf("%s %v: %q, want %q", c.workload, c.flags, said, c.said)
			}
			if rate := load.Fitting(300, c.wants); rate != c.rate {
				t.Errorf("%s %v: %v/s, want %v", c.workload, c.flags, rate, c.rate)
			}
		}
	}
}
