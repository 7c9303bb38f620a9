package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/provenance"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/workloads/result"
)

// roles are those that any lock of the comparison needs, master and worker first.
func (c *Config) roles() (roles []string) {
	for _, lock := range c.Locks {
		for _, name := range lock.Roles() {
			if !slices.Contains(roles, name) {
				roles = append(roles, name)
			}
		}
	}
	return roles
}

// part is what any lock of the comparison needs of the topology.
func (c *Config) part() *topology.Topology {
	t := c.Topology.Subset(c.roles()...)
	t.Hosts = slices.DeleteFunc(t.Hosts, func(h topology.Host) bool {
		return !slices.ContainsFunc(c.Locks, func(l catalog.Lock) bool {
			_, needed := l.Part(c.Topology).Host(h.Name)
			return needed
		})
	})
	return t
}

// describe notes what runs where, and what the reader must be warned of.
func (c *Config) describe(ctx context.Context, f *fleet, run *result.Run) error {
	run.Versions["locklab"] = provenance.ReadBuild().Version
	maps.Copy(run.Versions, provenance.ModuleVersions(
		"github.com/hashicorp/raft", "github.com/Shopify/toxiproxy/v2", "github.com/redis/go-redis/v9"))
	for _, need := range c.roles()[2:] {
		hosts := c.part().Subset(need).Hosts
		version, err := f.machines[hosts[0].Name].agent.Version(ctx, need)
		if err != nil {
			return fmt.Errorf("ask %s for the version of %s: %w", hosts[0].Name, need, err)
		}
		run.Versions[need] = version
		if strings.HasPrefix(version, role.StandIn) {
			run.Warn(fmt.Sprintf("instead of %s there ran an %s: "+
				"the figures of locks that need it are not those of the real server", need, version))
		}
	}
	for _, why := range c.Unavailable {
		run.Warn(why)
	}
	for _, u := range c.Unfit {
		if !c.Suite { // whose grid says so
			run.Warn(fmt.Sprintf("%s does not apply to %s: %s", u.Scenario, u.Lock, u.Why))
		}
	}
	for _, lock := range c.Locks {
		if lock.Caveat != "" {
			run.Warn(lock.Caveat)
		}
	}
	return nil
}

// warnOfLoads says under which scenarios something else than usual is asked of the locks.
func (c *Config) warnOfLoads(run *result.Run) {
	for _, s := range c.Scenarios {
		if !slices.ContainsFunc(c.Locks, func(lock catalog.Lock) bool { return c.fits(lock, s) }) {
			continue // nothing runs under it
		}
		said := c.Load.Instead(s.Wants)
		if rate := c.rateUnder(s); rate != c.Rate {
			said = append(said, fmt.Sprintf("no more than %.0f operations a second", rate))
		}
		if len(said) > 0 {
			run.Warn(fmt.Sprintf("the scenario %s has %s", s.Name, strings.Join(said, " and ")))
		}
	}
}
