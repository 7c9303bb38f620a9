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
	"locklab/cmd/locklab/internal/cluster"
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
	fleet    *cluster.Fleet
	display  *progress.Display
	lock     catalog.Lock
	scenario scenario.Scenario
	repeat   int // 1 is the first

	// byHand breaks the run until stop is closed; nil: the scenario does.
	byHand func(ctx, done context.Context, faults chaos.Config, clients catalog.Clients, from int64) error
	stop   <-chan struct{}
}

// name is how the run is called on the console.
func (x *experiment) name() string {
	name := fmt.Sprintf("%s under %s", x.lock, x.scenario.Name)
	if x.config.Repeat > 1 {
		name += fmt.Sprintf(" (%d/%d)", x.repeat, x.config.Repeat)
	}
	return name
}

func (x *experiment) historyFile() string { return x.path(HistoryDir, ".jsonl") }

// path is a file of the run in a directory of the report.
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

// kept runs, and keeps and shows the row. A session that is interrupted before it begins leaves none.
func (x *experiment) kept(ctx context.Context, rows *results) error {
	row, err := x.run(ctx)
	if row == nil || x.byHand != nil && errors.Is(err, errInterrupted) {
		return err
	}
	err = errors.Join(err, rows.put(*row))
	x.display.End(*rows.file, *row)
	x.config.Live.End(*rows.file, *row)
	return err
}

// run brings the cluster up, runs workload and scenario, takes the cluster down, and judges the history. Interrupted
// while it measures, it returns the row and errInterrupted. A run that is given up has a row that decides nothing.
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
	go func() { // a run without a record ends
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
	case errors.Is(runErr, cluster.ErrGivenUp):
		x.fleet.Log.Warn("the run was given up", "run", x.name(), "error", runErr)
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

// firstLine is the error without the lines of clean-up and logs below it.
func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), cluster.ErrGivenUp.Error()+": "), "\n")
	return line
}

// record makes the history. It says whether the load began.
func (x *experiment) record(ctx context.Context, file history.Recorder) (measured bool, err error) {
	name := fmt.Sprintf("%s/%s/%d", x.lock, x.scenario.Name, x.repeat)
	p := cluster.NewLayout(x.lock, x.config.Topology, name, uint64(x.seed()))
	p.Seats, p.Patience, p.Hold = x.config.Load.Seats(), x.config.patience(), x.scenario.Wants.Hold
	outlook := x.config.outlook(x.lock, x.scenario) //nolint:contextcheck // planning waits for nothing
	p.FakeClock, p.Disk = outlook.clocks, outlook.calls
	x.display.Advance(0, "starting")
	x.config.Live.Begin(x.liveRun(p))
	rec := &recorder{file: file, live: x.config.Live, kind: history.KindAcquire}
	if x.config.Load.Seats() > 0 {
		rec.kind = history.KindMatch
	}
	rec.Record(x.head(outlook.expect))
	c, err := x.fleet.Up(ctx, p, rec, filepath.Join(x.config.Dir, x.path(logDir, "")))
	if err != nil {
		return false, err
	}
	defer func() {
		x.display.Advance(x.config.aboutRun(x.lock, x.scenario), "stopping")
		x.logStage("stopping")
		down := c.Down(ctx)
		if err == nil {
			down = cluster.GiveUp(down)
		}
		err = errors.Join(err, down)
	}()
	err = x.measure(ctx, c, rec)
	calm := len(x.scenario.Timeline) == 0 && x.byHand == nil
	if err == nil && calm && x.config.Capacity && x.lock.Traits.Agree != locks.AgreeNobody && ctx.Err() == nil {
		err = x.measureCapacity(ctx, c, rec)
	}
	if err != nil && ctx.Err() == nil {
		err = cluster.GiveUp(err)
	}
	return true, err
}

// measureCapacity records the most grants a second, first with a resource for each client, then with one for all.
func (x *experiment) measureCapacity(ctx context.Context, c *cluster.Cluster, rec history.Recorder) error {
	x.display.Advance(x.config.aboutRun(x.lock, x.scenario)-aboutCapacity(), "measuring capacity")
	load := capacity.DefaultLoad()
	for _, load.One = range []bool{false, true} {
		e, err := capacity.Measure(ctx, c.Masters(), load)
		if err != nil {
			return err
		}
		rec.Record(e)
	}
	return nil
}

// head is the first event of the history.
func (x *experiment) head(expect scenario.Expectation) history.Event {
	topo := x.config.Topology
	run := history.Run{
		Schema: history.Schema, Lock: x.lock.String(), Scenario: x.scenario.Name, Workload: x.config.Workload.Name,
		Topology: topo.Name, Repeat: x.repeat, Seed: uint64(x.seed()), OfferedPS: x.config.rateUnder(x.scenario),
		WarmupNS: int64(x.config.Warmup), DurationNS: int64(x.measures()), Played: x.byHand != nil,
		Expect:  &expect.Expect,
		Planned: planned(x.scenario, x.config.Duration), HostZones: topo.HostZones(), NodeHosts: topo.NodeHosts(),
		LeaseNS: int64(x.lock.Lease), Program: programOf(x.lock, topo), Seats: x.config.Load.Seats(),
	}
	if second := topo.Second(); second > time.Second {
		run.SecondNS = int64(second)
	}
	return history.Event{Kind: history.KindRun, AtNS: clock.Mono(), Run: &run}
}

// planned are the scenario's faults in a run that measures for so long.
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

func (x *experiment) measures() time.Duration { return x.config.measures(x.lock, x.scenario) }

// latest is how much later than planned a run may end while a fault heals.
const latest = time.Minute

// leadTime is the time between the decision to start and the first operation.
const leadTime = 50 * time.Millisecond

// measure runs the workload and the scenario side by side.
func (x *experiment) measure(ctx context.Context, c *cluster.Cluster, rec *recorder) error {
	start := clock.Mono() + int64(leadTime)
	from := start + int64(x.config.Warmup)
	over := make(chan struct{}) // closed when a run with faults is to end
	run := x.load(c, rec, start)
	switch {
	case x.byHand != nil:
		run.Stop = x.stop
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
		if x.byHand != nil {
			return x.byHand(ctx, done, x.chaosConfig(c), clients, from)
		}
		// What it did is in the history; a fault that could not be proven is an inconclusive run, not an error.
		err := chaos.Run(ctx, x.chaosConfig(c), x.scenario, x.config.Duration, from)
		if err != nil || len(x.scenario.Timeline) == 0 {
			return err
		}
		rest := max(from+int64(x.measures())-clock.Mono(), int64(x.config.settles(x.lock)))
		if clock.Sleep(done, time.Duration(rest)) == nil {
			close(over)
		}
		return nil
	})
	c.WatchHosts(done, group)
	var watching sync.WaitGroup
	watching.Go(func() { x.watch(done, rec, start) })
	watching.Go(func() { x.fleet.Measure(done, rec) })
	err := group.Wait()
	finish()
	watching.Wait()
	return err
}

func (x *experiment) load(c *cluster.Cluster, rec history.Recorder, start int64) catalog.Run {
	return catalog.Run{
		Masters: c.Masters(), Rate: x.config.rateUnder(x.scenario), Wants: x.scenario.Wants,
		Warmup: x.config.Warmup, Duration: x.measures(), Patience: x.config.patience(), Second: x.config.Topology.Second(),
		Seed: x.seed(), StartNS: start, Recorder: rec,
	}
}

func (x *experiment) logStage(stage string) {
	x.fleet.Log.Info("stage of a run", "run", x.name(), "stage", stage)
}

func (x *experiment) chaosConfig(c *cluster.Cluster) chaos.Config {
	config := c.Chaos(x.config.External)
	config.Inventory, config.Lasts = inventoryOf(x.lock.Part(x.config.Topology), x.lock), x.measures()
	return config
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

// liveRun is the run as the live page shows it.
func (x *experiment) liveRun(p cluster.Layout) live.Run {
	run := live.Run{
		Key:      x.config.key(x.lock, x.scenario),
		Duration: x.measures(), Played: x.byHand != nil, Rooms: x.config.Load.Seats() > 0,
		OfferedPerS: x.config.rateUnder(x.scenario),
	}
	for _, h := range p.Topology.Hosts {
		host := live.Host{Name: h.Name, Zone: h.Zone}
		for _, n := range h.Nodes {
			host.Nodes = append(host.Nodes, live.Node{Name: n.Name, Role: n.Role})
		}
		run.Hosts = append(run.Hosts, host)
	}
	for _, pair := range p.HostPairs() {
		run.Links = append(run.Links, live.Link{From: pair[0], To: pair[1], RTT: p.Topology.Between(pair[0], pair[1]).RTT})
	}
	return run
}

// recorder passes the run's events to its history and the live page, and counts how requests end.
type recorder struct {
	file           history.Recorder
	live           *live.Board
	kind           history.Kind // of a request
	served, failed atomic.Uint64
}

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
