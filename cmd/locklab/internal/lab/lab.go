package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/facts"
	"locklab/cmd/locklab/internal/progress"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/reports/result"
	"locklab/workloads/check"
)

// Run runs the comparison. The file that it returns holds the rows of all
// combinations that came to an end, also when the context ended the comparison or
// an error stopped it; a combination that was interrupted while it measured is
// there too, as inconclusive.
func Run(ctx context.Context, c Config, display progress.Display) (result.File, error) {
	// The load and all links run in this process, with a small heap: to collect it less
	// often leaves more of the machine to what is measured.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	clk := clock.System()
	started := clk.Now()
	file := result.File{Schema: result.Schema, Run: result.Run{
		ID: filepath.Base(c.Dir), Started: started.UTC(), Seed: c.Seed, Commit: facts.Commit(ctx),
		Topology: c.Topology.Name, Command: c.Command, Host: facts.Host(), Versions: map[string]string{},
	}}
	logFile, log, err := openLog(c.Dir)
	if err != nil {
		return file, err
	}
	defer func() { _ = logFile.Close() }() // a log that cannot be written costs the log

	fleet, err := startFleet(ctx, c.Topology.Subset(c.roles()...), c.Token, c.Wait, c.Seed, log)
	if err != nil {
		return file, err
	}
	fleet.notice = display.Note
	defer func() {
		if err := fleet.close(); err != nil {
			display.Note(fmt.Sprintf("warning: cleaning up: %v", err))
		}
	}()
	if err := c.describe(ctx, fleet, &file.Run); err != nil {
		return file, err
	}
	for _, w := range file.Run.Warnings {
		display.Note("warning: " + w)
	}
	err = c.combinations(ctx, fleet, display, &file)
	fleet.clocks.report(fleet.order, &file.Run)
	file.Run.DurationMS = clk.Now().Sub(started).Milliseconds()
	return file, err
}

// openLog keeps what agents and links have to say out of the console.
func openLog(dir string) (io.Closer, *slog.Logger, error) {
	f, err := os.Create(filepath.Join(dir, "lab.log"))
	if err != nil {
		return nil, nil, fmt.Errorf("create log: %w", err)
	}
	return f, slog.New(slog.NewTextHandler(f, nil)), nil
}

// combinations runs every lock under every scenario. A scenario is run with all
// locks before the next, so that what is compared was measured close together.
func (c *Config) combinations(ctx context.Context, fleet *fleet, display progress.Display, file *result.File) error {
	rows := map[string]result.Row{}
	var order []string
	// The report shows lock by lock.
	for _, spec := range c.Locks {
		for _, s := range c.Scenarios {
			order = append(order, spec.String()+"\x00"+s.Name)
		}
	}
	collect := func() {
		for _, key := range order {
			if row, done := rows[key]; done {
				file.Results = append(file.Results, row)
			}
		}
	}
	defer collect()
	for _, s := range c.Scenarios {
		for _, spec := range c.Locks {
			row, err := c.combination(ctx, fleet, display, spec, s)
			if row != nil {
				rows[spec.String()+"\x00"+s.Name] = *row
			}
			if errors.Is(err, errInterrupted) || ctx.Err() != nil {
				file.Run.Interrupted = true
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s under %s: %w", spec, s.Name, err)
			}
		}
	}
	return nil
}

// combination runs one lock under one scenario as often as asked. The row is nil
// if no repeat came far enough to say anything.
func (c *Config) combination(ctx context.Context, fleet *fleet, display progress.Display, spec locks.Spec, s scenario.Scenario) (*result.Row, error) {
	var repeats []*check.Findings
	var histories []string
	var err error
	for i := range c.Repeat {
		x := &experiment{config: c, fleet: fleet, display: display, spec: spec, scenario: s, repeat: i + 1}
		display.Begin(x.name(), c.aboutRun())
		var found *check.Findings
		found, err = x.run(ctx)
		if found != nil {
			if errors.Is(err, errInterrupted) {
				found.Incomplete = append(found.Incomplete, "the user interrupted the run")
			}
			repeats = append(repeats, found)
			histories = append(histories, filepath.ToSlash(x.historyFile()))
			display.End(brief(found, check.Judge(found, check.ExpectationOf(found.Run))))
		}
		if err != nil {
			break
		}
	}
	if len(repeats) == 0 {
		return nil, err
	}
	merged := check.Merge(repeats...)
	want := check.ExpectationOf(merged.Run)
	row := toRow(merged, check.Judge(merged, want), want, histories)
	row.Peers = toPeers(merged.Peers, c.Topology)
	return &row, err
}

// brief is the line with which a run ends on the console.
func brief(f *check.Findings, v check.Verdict) string {
	parts := []string{string(v.Status) + ", " + string(v.Safety) + ", " + string(v.Liveness)}
	if f.Run.Workload == Matchmaking {
		d := f.Duplicates
		parts = append(parts, fmt.Sprintf("%d duplicates in %d rooms (raced %d, overlooked %d, unreachable %d)",
			d.Total(), f.RoomsCreated, d.Raced, d.Overlooked, d.Unreachable))
	} else {
		parts = append(parts, fmt.Sprintf("%d overlaps in %d holds", f.Overlaps, f.Holds))
	}
	parts = append(parts, fmt.Sprintf("%.0f/s", f.AchievedPS()))
	if v.Status != check.Expected && v.Status != check.NotJudged {
		parts = append(parts, v.Why)
	}
	return strings.Join(parts, "; ")
}
