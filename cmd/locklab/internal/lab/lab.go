package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/cluster"
	"locklab/cmd/locklab/internal/progress"
	"locklab/cmd/locklab/internal/provenance"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/role"
	"locklab/workloads/result"
)

// Compare runs comparisons on one topology, one after the other. It keeps the rows of the earlier result, and runs what
// that lacks. The file has all combinations that ended, also if the context or an error stopped the comparison; one
// that was interrupted while it measured is inconclusive. The file is on disk from the first run on.
func Compare(
	ctx context.Context, parts []Config, earlier *result.File, display *progress.Display,
) (result.File, error) {
	return onFleet(ctx, parts, earlier, display, func(fleet *cluster.Fleet, rows *results) error {
		for i := range parts {
			if err := parts[i].combinations(ctx, fleet, display, rows); err != nil || rows.file.Run.Interrupted {
				return err
			}
		}
		return nil
	})
}

// onFleet runs something on the hosts of the comparisons, and keeps their result.
func onFleet(
	ctx context.Context, parts []Config, earlier *result.File, display *progress.Display,
	do func(*cluster.Fleet, *results) error,
) (result.File, error) {
	c := whole(parts)
	// The load and all links run in this process: fewer collections leave more of the machine to what is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	clk := clock.System()
	started := clk.Now()
	file := result.File{Schema: result.Schema, Run: result.Run{
		ID: filepath.Base(c.Dir), Unfinished: true, Started: started.UTC(), Seed: c.Seed, Commit: provenance.Commit(ctx),
		Topology: c.Topology.Name, Command: strings.Join(append([]string{"locklab"}, c.Args...), " "), Args: c.Args,
		Load: loads(parts), Repeats: c.Repeat, Scenarios: titles(parts),
		Host: provenance.Host(), Versions: map[string]string{}, Unfit: c.Unfit,
	}}
	for _, z := range c.Topology.Zones {
		file.Run.Zones = append(file.Run.Zones, z.Short)
	}
	for _, l := range c.Locks {
		if l.Traits.Agree == locks.AgreeServers || l.Traits.Agree == locks.AgreePeers {
			file.Run.Majority = append(file.Run.Majority, l.String())
		}
	}
	logFile, log, err := OpenLog(c.Dir)
	if err != nil {
		return file, err
	}
	defer func() { _ = logFile.Close() }() // a log that cannot be written costs the log

	fleet, err := cluster.StartFleet(ctx, cluster.Config{
		Hosts: c.part().Hosts, Programs: c.Programs, Seed: c.Seed, Token: c.Token, Wait: c.Wait,
		Log: log, Notice: display.Note,
	})
	if err != nil {
		return file, err
	}
	defer func() {
		if err := fleet.Close(); err != nil {
			display.Note(fmt.Sprintf("warning: cleaning up: %v", err))
		}
	}()
	defer fleet.ServeToxiproxy(ctx, c.Toxiproxy)()
	if err := c.describe(ctx, fleet, &file.Run); err != nil {
		return file, err
	}
	for i := range parts {
		parts[i].warnOfLoads(&file.Run) //nolint:contextcheck // planning waits for nothing
	}
	rows := newResults(parts, &file, earlier)
	for _, w := range file.Run.Warnings {
		display.Note("warning: " + w)
	}
	if err := rows.save(); err != nil {
		return file, err
	}
	err = do(fleet, rows)
	file.Run.Unfinished = err != nil && ctx.Err() == nil // --resume goes on with it
	file.Run.DurationMS += clk.Now().Sub(started).Milliseconds()
	return file, errors.Join(err, rows.save())
}

// Remaining is how many runs the earlier result lacks, and about how long they take.
func Remaining(parts []Config, earlier *result.File) (runs int, about time.Duration) {
	rows := newResults(parts, new(result.File), earlier)
	for i := range parts {
		c := &parts[i]
		for lock, s := range c.eachFit {
			for i := range c.Repeat {
				if rows.done(c.key(lock, s), i+1) {
					continue
				}
				runs++
				about += c.aboutRun(lock, s)
			}
		}
	}
	return runs, about
}

// eachFit passes on the combinations that apply, one scenario after the other: what is compared runs close together.
func (c *Config) eachFit(do func(catalog.Lock, scenario.Scenario) bool) {
	for _, s := range c.Scenarios {
		for _, lock := range c.Locks {
			if c.fits(lock, s) && !do(lock, s) {
				return
			}
		}
	}
}

// combinations runs what eachFit passes on, as often as asked, without the runs that have their rows.
func (c *Config) combinations(
	ctx context.Context, fleet *cluster.Fleet, display *progress.Display, rows *results,
) error {
	for lock, s := range c.eachFit {
		for i := range c.Repeat {
			x := &experiment{config: c, fleet: fleet, display: display, lock: lock, scenario: s, repeat: i + 1}
			if rows.done(c.key(lock, s), x.repeat) {
				continue
			}
			err := rows.drop(c.key(lock, s), x.repeat)
			if err == nil {
				display.Begin(x.name(), c.aboutRun(lock, s))
				err = x.kept(ctx, rows)
			}
			if errors.Is(err, errInterrupted) || ctx.Err() != nil {
				rows.file.Run.Interrupted = true
				return nil // an interruption is no error: there is a report of what was measured
			}
			if err != nil {
				return fmt.Errorf("%s under %s: %w", lock, s.Name, err)
			}
		}
	}
	return nil
}

// describe notes the versions, and what the reader must be warned of.
func (c *Config) describe(ctx context.Context, f *cluster.Fleet, run *result.Run) error {
	run.Versions["locklab"] = provenance.ReadBuild().Version
	maps.Copy(run.Versions, provenance.ModuleVersions(
		"github.com/hashicorp/raft", "github.com/Shopify/toxiproxy/v2", "github.com/redis/go-redis/v9"))
	for _, need := range c.roles()[2:] {
		hosts := c.part().Subset(need).Hosts
		version, err := f.Version(ctx, hosts[0].Name, need)
		if err != nil {
			return err
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

// warnOfLoads names the scenarios that change the load.
func (c *Config) warnOfLoads(run *result.Run) {
	for _, s := range c.Scenarios {
		if !slices.ContainsFunc(c.Locks, func(lock catalog.Lock) bool { return c.fits(lock, s) }) {
			continue // nothing runs under it
		}
		said := c.Load.Instead(s.Wants)
		if rate := c.rateUnder(s); rate != c.rate() {
			said = append(said, fmt.Sprintf("no more than %.0f operations a second", rate))
		}
		if len(said) > 0 {
			run.Warn(fmt.Sprintf("the scenario %s has %s", s.Name, strings.Join(said, " and ")))
		}
	}
}
