package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/cmd/locklab/internal/provenance"
	"locklab/internal/filelock"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/workloads/result"
)

// Run runs comparisons on one topology, one after the other. The file that it returns
// holds the rows of all combinations that came to an end, also when the context ended the
// comparison or an error stopped it; a combination that was interrupted while it measured
// is there too, as inconclusive. The same is in the report's directory from the first
// run's beginning on, and after every run, in case this process is killed. Rows of the
// earlier result, if there is one, are kept: what it lacks is run.
func Run(ctx context.Context, parts []Config, earlier *result.File, display *progress.Display) (result.File, error) {
	return with(ctx, parts, earlier, display, func(fleet *fleet, rows *results) error {
		for i := range parts {
			if err := parts[i].combinations(ctx, fleet, display, rows); err != nil || rows.file.Run.Interrupted {
				return err
			}
		}
		return nil
	})
}

// with runs something on the hosts of the comparisons, and keeps their result.
func with(
	ctx context.Context, parts []Config, earlier *result.File, display *progress.Display, do func(*fleet, *results) error,
) (result.File, error) {
	c := whole(parts)
	// The load and all links run in this process, with a small heap: to collect it less
	// often leaves more of the machine to what is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	clk := clock.System()
	started := clk.Now()
	file := result.File{Schema: result.Schema, Run: result.Run{
		ID: filepath.Base(c.Dir), Unfinished: true, Started: started.UTC(), Seed: c.Seed, Commit: provenance.Commit(ctx),
		Topology: c.Topology.Name, Command: c.Command, Args: c.Args,
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
	logFile, log, err := openLog(c.Dir)
	if err != nil {
		return file, err
	}
	defer func() { _ = logFile.Close() }() // a log that cannot be written costs the log

	fleet, err := startFleet(ctx, c.part(), &c, log)
	if err != nil {
		return file, err
	}
	fleet.notice = display.Note
	defer func() {
		if err := fleet.close(); err != nil {
			display.Note(fmt.Sprintf("warning: cleaning up: %v", err))
		}
	}()
	defer fleet.serveToxiproxy(ctx, c.Toxiproxy)()
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

// Remaining is how many runs there are that the earlier result does not have, and about
// how long they take.
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

// whole is what all parts need, and what they share.
func whole(parts []Config) Config {
	c := parts[0]
	c.Locks, c.Unavailable, c.Unfit, c.Programs = nil, nil, nil, catalog.Programs{}
	for _, p := range parts {
		maps.Copy(c.Programs, p.Programs)
		c.Unfit = append(c.Unfit, p.Unfit...)
		for _, lock := range p.Locks {
			if !named(c.Locks, lock.String()) {
				c.Locks = append(c.Locks, lock)
			}
		}
		for _, why := range p.Unavailable {
			if !slices.Contains(c.Unavailable, why) {
				c.Unavailable = append(c.Unavailable, why)
			}
		}
	}
	return c
}

// Names in the directory of a comparison.
const (
	LogFile    = "lab.log"   // what agents and links have to say
	HistoryDir = "histories" // with the events of every run that began
	LogDir     = "logs"      // with what the nodes of every run had to say
)

// openLog keeps what agents and links have to say out of the console. The log is locked
// as long as this process works in the directory; see Complete.
func openLog(dir string) (io.Closer, *slog.Logger, error) {
	path := filepath.Join(dir, LogFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644) //nolint:gosec // meant to be read by others
	if err != nil {
		return nil, nil, fmt.Errorf("create log: %w", err)
	}
	if err := filelock.Exclusive(f); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("lock %s: another run works in this directory: %w", f.Name(), err), f.Close())
	}
	return f, slog.New(slog.NewTextHandler(f, nil)), nil
}

// eachFit passes on the combinations that apply, in the order of their runs. A scenario is run with all
// locks before the next, so that what is compared was measured close together.
func (c *Config) eachFit(do func(catalog.Lock, scenario.Scenario) bool) {
	for _, s := range c.Scenarios {
		for _, lock := range c.Locks {
			if c.fits(lock, s) && !do(lock, s) {
				return
			}
		}
	}
}

// combinations runs every lock under every scenario, in the order of eachFit, as often as asked, but for the runs
// that have their rows.
func (c *Config) combinations(ctx context.Context, fleet *fleet, display *progress.Display, rows *results) error {
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

// kept runs, keeps the row, and tells of it. A session that was interrupted before it was played leaves none.
func (x *experiment) kept(ctx context.Context, rows *results) error {
	row, err := x.run(ctx)
	if row == nil || x.play != nil && errors.Is(err, errInterrupted) {
		return err
	}
	err = errors.Join(err, rows.put(*row))
	x.display.End(*rows.file, *row)
	x.config.Live.End(*rows.file, *row)
	return err
}
