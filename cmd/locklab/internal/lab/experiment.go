package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/seed"
	"locklab/locks"
	"locklab/locks/clock"
	"locklab/nodes/topology"
	"locklab/reports/live"
	"locklab/workloads/capacity"
	"locklab/workloads/history"
	"locklab/workloads/result"
)

// experiment is one run: one lock under one scenario, once.
type experiment struct {
	config   *Config
	fleet    *fleet
	display  *progress.Display
	lock     catalog.Lock
	scenario scenario.Scenario
	repeat   int   // 1 is the first
	play     *Play // by which the run is broken and ended; nil: by its scenario
}

// name is how the run is called on the console.
func (x *experiment) name() string {
	name := fmt.Sprintf("%s under %s", x.lock, x.scenario.Name)
	if x.config.Repeat > 1 {
		name += fmt.Sprintf(" (%d/%d)", x.repeat, x.config.Repeat)
	}
	return name
}

// historyFile is the run's history below the report's directory.
func (x *experiment) historyFile() string { return x.path(HistoryDir, ".jsonl") }

// path names something of the run below a directory of the report's.
func (x *experiment) path(below, extension string) string {
	// File systems mind colons, and the value of an option may have dots and slashes.
	lock := strings.NewReplacer(":", "+", ",", "+", "/", "_", ".", "_").Replace(x.lock.String())
	name := fmt.Sprintf("%s.%s.%d%s", x.scenario.Name, x.config.Workload.Name, x.repeat, extension)
	return filepath.Join(below, lock, name)
}

// seed is that of the run: the same for all locks, so that they meet the same load.
func (x *experiment) seed() seed.Seed {
	return seed.Seed(x.config.Seed).Child(fmt.Sprintf("%s/%s/%d", x.scenario.Name, x.config.Workload.Name, x.repeat))
}

// errInterrupted says that the user stopped the run before its end.
var errInterrupted = errors.New("interrupted")

// run brings the cluster up, lets the workload and the scenario run, takes the
// cluster down, and judges the history. An interrupted run gives the row of
// what there is, with errInterrupted, if it had begun to measure. A run that had to be given up gives a row that
// decides nothing, also if it could not even begin.
func (x *experiment) run(ctx context.Context) (*result.Row, error) {
	path := filepath.Join(x.config.Dir, x.historyFile())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create history: %w", err)
	}
	if err := setAside(path); err != nil {
		return nil, err
	}
	file, err := history.Create(path)
	if err != nil {
		return nil, err
	}
	recorded, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // without a record there is nothing to measure for
		select {
		case <-file.Failed():
			stop()
		case <-recorded.Done():
		}
	}()
	measured, runErr := x.record(recorded, file)
	switch {
	case ctx.Err() != nil:
		runErr = errInterrupted
	case errors.Is(runErr, errGivenUp):
		x.fleet.log.Warn("the run was given up", "run", x.name(), "error", runErr)
		file.Record(history.Event{Kind: history.KindGivenUp, AtNS: clock.Mono(), Error: firstLine(runErr)})
		measured, runErr = true, nil
	}
	if err := file.Close(); err != nil {
		if errors.Is(runErr, context.Canceled) {
			runErr = nil // that is how the record's end ended it
		}
		return nil, errors.Join(runErr, err)
	}
	if !measured || (runErr != nil && !errors.Is(runErr, errInterrupted)) {
		return nil, runErr
	}
	row, err := rowOf(context.WithoutCancel(ctx), x.config.Dir, x.historyFile(), runErr != nil) // if interrupted, too
	if err != nil {
		return nil, err
	}
	return &row, runErr
}

// record makes the history. It says whether the load began.
func (x *experiment) record(ctx context.Context, file history.Recorder) (measured bool, err error) {
	p := newPlan(x.config, x.lock, fmt.Sprintf("%s/%s/%d", x.lock, x.scenario.Name, x.repeat), uint64(x.seed()))
	p.hold, p.outlook = x.scenario.Wants.Hold, x.config.outlook(x.lock, x.scenario) //nolint:contextcheck // likewise
	x.display.Advance(0, "starting")
	x.config.Live.Begin(x.liveRun(p))
	rec := &recorder{file: file, live: x.config.Live, kind: history.KindAcquire}
	if x.config.Workload.Name == history.Matchmaking {
		rec.kind = history.KindMatch
	}
	rec.Record(x.head()) //nolint:contextcheck // planning waits for nothing
	c, err := x.fleet.up(ctx, p, rec, filepath.Join(x.config.Dir, x.path(LogDir, "")))
	if err != nil {
		return false, err
	}
	defer func() {
		x.display.Advance(x.config.aboutRun(x.lock, x.scenario), "stopping")
		x.logStage("stopping")
		down := c.down(ctx)
		if err == nil {
			down = giveUp(down)
		}
		err = errors.Join(err, down)
	}()
	err = x.measure(ctx, c, rec)
	calm := len(x.scenario.Timeline) == 0 && x.play == nil
	if err == nil && calm && x.config.Capacity && x.lock.Traits.Agree != locks.AgreeNobody && ctx.Err() == nil {
		err = x.measureCapacity(ctx, c)
	}
	if err != nil && ctx.Err() == nil {
		err = giveUp(err)
	}
	return true, err
}

// aboutCapacity is how long both measurements take.
func aboutCapacity() time.Duration {
	plan := capacity.DefaultPlan()
	return 2 * (plan.Warmup + plan.Duration)
}

// measureCapacity records how many grants a second the lock gives at most, each client with a
// resource of its own, then all with one.
func (x *experiment) measureCapacity(ctx context.Context, c *cluster) error {
	x.display.Advance(x.config.aboutRun(x.lock, x.scenario)-aboutCapacity(), "measuring capacity")
	plan := capacity.DefaultPlan()
	for _, plan.One = range []bool{false, true} {
		e, err := capacity.Measure(ctx, c.masters(), plan)
		if err != nil {
			return err
		}
		c.recorder.Record(e)
	}
	return nil
}

// head is the first event of the history.
func (x *experiment) head() history.Event {
	topo := x.config.Topology
	run := history.Run{
		Schema: history.Schema, Lock: x.lock.String(), Scenario: x.scenario.Name, Workload: x.config.Workload.Name,
		Topology: topo.Name, Repeat: x.repeat, Seed: uint64(x.seed()), OfferedPS: x.config.rateUnder(x.scenario),
		WarmupNS: int64(x.config.Warmup), DurationNS: int64(x.measures()), Played: x.play != nil,
		Expect:  &x.config.outlook(x.lock, x.scenario).expect.Expect,
		Planned: planned(x.scenario, x.config.Duration), HostZones: topo.HostZones(), NodeHosts: topo.NodeHosts(),
		LeaseNS: int64(x.lock.Lease), Program: programOf(x.lock, topo), Seats: x.config.seats(),
	}
	if second := topo.Second(); second > time.Second {
		run.SecondNS = int64(second)
	}
	return history.Event{Kind: history.KindRun, AtNS: clock.Mono(), Run: &run}
}

// planned are the faults that the scenario asks for in a run that measures for so long.
func planned(s scenario.Scenario, measured time.Duration) []history.Planned {
	var all []history.Planned
	for _, p := range s.Schedule(measured) {
		all = append(all, history.Planned{
			ID: p.ID, Fault: p.Step.Fault.Kind, Target: p.Step.Fault.Target, Aim: p.Step.Fault.Aim,
			AtNS: int64(p.Window.From), ForNS: int64(p.Window.Until - p.Window.From),
		})
	}
	return all
}

// programOf is what the history says of a lock that the user brings; nil of others.
func programOf(lock catalog.Lock, topo *topology.Topology) *history.Program {
	if !lock.Program {
		return nil
	}
	var p history.Program
	for _, server := range lock.Servers {
		for _, n := range topo.NodesOf(server.Name) {
			p.Servers = append(p.Servers, n.Name)
		}
	}
	return &p
}

// measures is for how long the run measures.
func (x *experiment) measures() time.Duration { return x.config.measures(x.lock, x.scenario) }

// latest is how much later than planned a run may end because a fault takes long to heal.
const latest = time.Minute

// lead is the time between the decision to start and the first operation.
const lead = 50 * time.Millisecond

// measure lets the workload and the scenario run side by side.
func (x *experiment) measure(ctx context.Context, c *cluster, rec *recorder) error {
	start := clock.Mono() + int64(lead)
	from := start + int64(x.config.Warmup)
	over := make(chan struct{}) // closed when a run with faults is to end
	run := x.load(c, rec, start)
	switch {
	case x.play != nil:
		run.Stop = x.play.stop
	case len(x.scenario.Timeline) > 0:
		run.Stop, run.Duration = over, run.Duration+latest
	}
	clients := x.config.Load.Begin(run)
	group, ctx := errgroup.WithContext(ctx)
	done, finish := context.WithCancel(ctx)
	defer finish()
	group.Go(func() error {
		defer finish()
		return clients.Run(ctx)
	})
	group.Go(func() error {
		if x.play != nil {
			return x.play.during(ctx, done, x, c, clients, from)
		}
		if err := x.breakThings(ctx, c, from); err != nil || len(x.scenario.Timeline) == 0 {
			return err
		}
		rest := max(from+int64(x.measures())-clock.Mono(), int64(x.config.settles(x.lock)))
		if clock.Sleep(done, time.Duration(rest)) == nil {
			close(over)
		}
		return nil
	})
	c.watchHosts(done, group)
	var watching sync.WaitGroup
	watching.Go(func() { x.watch(done, rec, start) })
	watching.Go(func() { x.fleet.measure(done, rec) })
	err := group.Wait()
	finish()
	watching.Wait()
	return err
}

// load is what the clients are put on.
func (x *experiment) load(c *cluster, rec history.Recorder, start int64) catalog.Run {
	return catalog.Run{
		Masters: c.masters(), Repeat: x.repeat, Rate: x.config.rateUnder(x.scenario), Wants: x.scenario.Wants,
		Warmup: x.config.Warmup, Duration: x.measures(), Patience: x.config.patience(), Second: x.config.Topology.Second(),
		Seed: x.seed(), StartNS: start, Recorder: rec,
	}
}

func (x *experiment) logStage(stage string) {
	x.fleet.log.Info("stage of a run", "run", x.name(), "stage", stage)
}

// breakThings runs the scenario. What it did is in the history; a fault that could
// not be proven is an inconclusive run, not an error.
func (x *experiment) breakThings(ctx context.Context, c *cluster, measureFrom int64) error {
	return chaos.Run(ctx, x.chaosConfig(c), x.scenario, x.config.Duration, measureFrom)
}

// watch shows how the run goes until it is done; each stage is logged.
func (x *experiment) watch(done context.Context, rec *recorder, start int64) {
	for last := ""; ; {
		elapsed := time.Duration(clock.Mono() - start)
		now := "warming up"
		if elapsed > x.config.Warmup {
			now = "measuring"
		}
		if elapsed > x.config.Warmup+x.measures() {
			now = "waiting for the last answers"
		}
		if now != last {
			x.logStage(now)
			last = now
		}
		x.display.Advance(elapsed, fmt.Sprintf("%s  %d served  %d failed", now, rec.served.Load(), rec.failed.Load()))
		if clock.Sleep(done, 250*time.Millisecond) != nil {
			return
		}
	}
}

// recorder passes the run's events to its history and the live page, and counts how requests end.
type recorder struct {
	file           history.Recorder
	live           *live.Board
	kind           history.Kind // of a request
	served, failed atomic.Uint64
}

// Record implements [history.Recorder].
func (r *recorder) Record(e history.Event) {
	r.live.Record(e)
	r.file.Record(e)
	switch {
	case e.Kind != r.kind || strings.HasPrefix(e.Resource, history.CanaryPrefix):
	case e.Outcome == string(locks.OutcomeOK):
		r.served.Add(1)
	default:
		r.failed.Add(1)
	}
}
