package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"locklab/chaos/link"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/facts"
	"locklab/locks"
	"locklab/locks/raftlock"
	"locklab/nodes/raftnode"
	"locklab/nodes/role"
	"locklab/reports/result"
)

// roles are those that any lock of the comparison needs, master and worker first.
func (c *Config) roles() []string {
	roles := []string{role.Master, role.Worker}
	for _, spec := range c.Locks {
		entry, err := catalog.Lookup(spec)
		if err != nil {
			continue // checked before
		}
		for _, need := range entry.Needs {
			if !slices.Contains(roles, need) {
				roles = append(roles, need)
			}
		}
	}
	return roles
}

// describe notes what runs where, what the links cost, and what the reader must be
// warned of.
func (c *Config) describe(ctx context.Context, f *fleet, run *result.Run) error {
	run.Versions["locklab"] = facts.ReadBuild().Version
	maps.Copy(run.Versions, facts.ModuleVersions(
		"github.com/hashicorp/raft", "github.com/Shopify/toxiproxy/v2", "github.com/redis/go-redis/v9"))
	for _, need := range c.roles()[2:] {
		hosts := c.Topology.HostsOf(need)
		version, err := f.machines[hosts[0].Name].agent.Version(ctx, need)
		if err != nil {
			return fmt.Errorf("ask %s for the version of %s: %w", hosts[0].Name, need, err)
		}
		run.Versions[need] = version
		if strings.Contains(version, "stand-in") {
			run.Warnings = append(run.Warnings, "redis-server is not installed: an embedded stand-in ("+version+
				") took its place, so the figures of redlock are not those of Redis")
		}
	}
	if slices.ContainsFunc(c.Locks, inMemory) {
		run.Warnings = append(run.Warnings, "raft with store=memory does not write to disk: never compare it with one that does")
	}
	cost, err := link.MeasureCost(ctx)
	if err != nil {
		return fmt.Errorf("measure what a link costs: %w", err)
	}
	run.LinkCost = &result.LinkCost{
		DirectP50US: us(cost.Direct), LinkP50US: us(cost.Link), Ratio: float64(cost.Link) / float64(cost.Direct),
	}
	return nil
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func inMemory(spec locks.Spec) bool {
	if spec.Name != "raft" {
		return false
	}
	options, err := raftlock.ParseOptions(spec)
	return err == nil && options.Store == raftnode.StoreMemory
}
