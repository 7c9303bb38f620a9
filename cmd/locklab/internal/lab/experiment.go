package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"locklab/chaos"
	"locklab/chaos/scenario"
	"locklab/cmd/locklab/internal/catalog"
	"locklab/cmd/locklab/internal/progress"
	"locklab/internal/seed"
	"locklab/locks/clock"
	"locklab/nodes/role"
	"locklab/nodes/topology"
	"locklab/workloads/history"
	"locklab/workloads/mutex"
	"locklab/workloads/result"
)

// experiment is one run: one lock under one scenario, once.
type experiment struct {
	config   *Config
	fleet    *fleet
	display  progress.Display
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
	// A spec's characters are letters, digits and "-_:,="; keep them off file systems
	// that mind.
	lock := strings.NewReplacer(":", "+", ",", "+", "/", "_", ".", "_").Replace(x.lock.String())
	return filepath.Join(below, lock, fmt.Sprintf("%s.%s.%d%s", x.scenario.Name, x.config.Workload.Name, x.repeat, extension))
}

// seed is that of the run: the same for all locks, so that they meet the same load.
func (x *experiment) seed() seed.Seed {
	return seed.Seed(x.config.Seed).Child(fmt.Sprintf("%s/%s/%d", x.scenario.Name, x.config.Workload.Name, x.repeat))
}

// errInterrupted says that the user stopped the run before its end.
var errInterrupted = errors.New("interrupted")

// run brings the cluster up, lets the workload and the scenario run, takes the
// cluster down, and judges the history. An interrupted run gives the row of
// what there is, with errInterrupted, if it had begun to measure. A run that lost a
// host, or had to be given up, gives a row that decides nothing, also if it could not
// even begin.
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
	if errors.Is(runErr, errGivenUp) && ctx.Err() == nil { // so says the history, and decides nothing
		x.fleet.log.Warn("the run was given up", "run", x.name(), "error", runErr)
		file.Record(history.Event{Kind: history.KindGivenUp, AtNS: clock.Mono(), Error: firstLine(runErr)})
		measured, runErr = true, nil
	}
	if err := file.Close(); err != nil {
		if errors.Is(runErr, context.Canceled) && ctx.Err() == nil {
			runErr = nil // that is how the record's end ended it
		}
		return nil, errors.Join(runErr, err)
	}
	if ctx.Err() != nil {
		runErr = errInterrupted
	}
	if errors.Is(runErr, errHostLost) { // the history says so, and decides nothing
		measured, runErr = true, nil
	}
	if !measured || (runErr != nil && !errors.Is(runErr, errInterrupted)) {
		return nil, runErr
	}
	row, err := rowOf(context.WithoutCancel(ctx), x.config.Dir, x.historyFile(), runErr != nil) // an interrupted run is judged, too
	if err != nil {
		return nil, err
	}
	return &row, runErr
}

// record makes the history. It says whether the measured part was reached.
func (x *experiment) record(ctx context.Context, file history.Recorder) (measured bool, err error) {
	first := &headed{out: file}
	defer func() { first.Begin(x.head(0)) }() //nolint:contextcheck // planning waits for nothing; a run that failed early has a head too
	rec := seen{first, x.config.Live}

	p := newPlan(x.config, x.lock, fmt.Sprintf("%s/%s/%d", x.lock, x.scenario.Name, x.repeat), uint64(x.seed()))
	outlook := x.config.outlook(x.lock, x.scenario) //nolint:contextcheck // planning waits for nothing
	p.hold, p.clocks, p.calls = x.scenario.Wants.Hold, outlook.clocks, outlook.calls
	x.display.Advance(0, "starting")
	x.config.Live.Begin(x.liveRun(p))
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
	rtt := c.measureRTT(ctx)
	head := x.head(rtt) //nolint:contextcheck // planning waits for nothing
	first.Begin(head)
	x.config.Live.Record(head)
	measured, err = x.measure(ctx, c, rec)
	if err == nil && measured && ctx.Err() == nil && x.measuresCapacity(rtt) {
		err = x.measureCapacity(ctx, c, rec)
	}
	if err == nil && measured && ctx.Err() == nil && x.config.Throughput && len(x.scenario.Timeline) == 0 {
		err = x.measureThroughput(ctx, c, rec)
	}
	if err != nil && ctx.Err() == nil {
		err = giveUp(c.blameLosses(ctx, err))
	}
	return measured, err
}

// head is the first event of the history.
func (x *experiment) head(rtt time.Duration) history.Event {
	topo, second := x.config.Topology, int64(0)
	if longer := x.config.Topology.Second(); longer > time.Second {
		second = int64(longer)
	}
	return history.Event{Kind: history.KindRun, AtNS: clock.Mono(), Run: &history.Run{
		Schema: history.Schema, Lock: x.lock.String(), Scenario: x.scenario.Name, Workload: x.config.Workload.Name,
		Topology: topo.Name, Repeat: x.repeat, Seed: uint64(x.seed()), OfferedPS: x.config.rateUnder(x.scenario),
		WarmupNS: int64(x.config.Warmup), DurationNS: int64(x.measures()), Played: x.play != nil,
		Expect: expected(x.scenario, x.config.outlook(x.lock, x.scenario).expect), Planned: planned(x.scenario, x.config.Duration),
		HostZones: topo.HostZones(), NodeHosts: topo.NodeHosts(), RTTNS: int64(rtt), SecondNS: second, LeaseNS: int64(x.lock.Lease),
		Program: programOf(x.lock, topo), Seats: x.config.seats(),
	}}
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
func (x *experiment) measure(ctx context.Context, c *cluster, rec history.Recorder) (measured bool, err error) {
	start := clock.Mono() + int64(lead)
	over := make(chan struct{}) // closed when a run with faults is to end
	clients, err := x.clients(c, rec, start, over)
	if err != nil {
		return false, err
	}
	group, ctx := errgroup.WithContext(ctx)
	done, finish := context.WithCancel(ctx)
	defer finish()
	group.Go(func() error {
		defer finish()
		return clients.Run(ctx)
	})
	group.Go(func() error {
		select {
		case from := <-clients.MeasureFrom:
			measured = true
			if x.play != nil {
				return x.play.during(ctx, done.Done(), x, c, clients, rec, from)
			}
			if err := x.breakThings(ctx, c, rec, from); err != nil || len(x.scenario.Timeline) == 0 {
				return err
			}
			rest := max(from+int64(x.measures())-clock.Mono(), int64(x.config.settles(x.lock)))
			if clock.Sleep(done, time.Duration(rest)) == nil {
				close(over)
			}
			return nil
		case <-done.Done():
			return nil
		}
	})
	group.Go(func() error {
		x.watch(done, clients, start)
		return nil
	})
	group.Go(func() error {
		x.fleet.measure(done, rec)
		return nil
	})
	group.Go(func() error {
		x.watchWaits(done, c)
		return nil
	})
	err = group.Wait()
	return measured, err
}

// clients prepares what the clients do in this run.
func (x *experiment) clients(c *cluster, rec history.Recorder, start int64, over <-chan struct{}) (catalog.Clients, error) {
	run := x.load(c, rec, start)
	switch {
	case x.play != nil:
		run.Stop = x.play.stop
	case len(x.scenario.Timeline) > 0:
		run.Stop, run.Duration = over, run.Duration+latest
	}
	return x.config.Load.Begin(run)
}

// load is what the clients are put on.
func (x *experiment) load(c *cluster, rec history.Recorder, start int64) catalog.Run {
	run := catalog.Run{
		Repeat: x.repeat, Rate: x.config.rateUnder(x.scenario), Warmup: x.config.Warmup, Duration: x.measures(), Patience: x.config.patience(), Second: x.config.Topology.Second(), Wants: x.scenario.Wants,
		Seed: x.seed(), StartNS: start, Recorder: rec, Tracer: x.fleet.tracer,
	}
	for _, m := range c.topo.NodesOf(role.Master) {
		run.Masters = append(run.Masters, mutex.Master{Name: m.Name, URL: c.masterURL(m.Name), Token: c.plan.token})
	}
	return run
}

func (x *experiment) logStage(stage string) {
	x.fleet.log.Info("stage of a run", "run", x.name(), "stage", stage)
}

// breakThings runs the scenario. What it did is in the history; a fault that could
// not be proven is an inconclusive run, not an error.
func (x *experiment) breakThings(ctx context.Context, c *cluster, rec history.Recorder, measureFrom int64) error {
	runner, err := chaos.NewRunner(x.chaosConfig(c, rec))
	if err != nil {
		return err
	}
	_, err = runner.Run(ctx, x.scenario, x.config.Duration, measureFrom)
	return err
}

// watch shows how the run goes until it is done; each stage is logged.
func (x *experiment) watch(done context.Context, clients catalog.Clients, start int64) {
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
		x.display.Advance(elapsed, now+"  "+clients.State())
		if clock.Sleep(done, 250*time.Millisecond) != nil {
			return
		}
	}
}

// headed is a recorder whose events wait for the description of the run, which is the first of the history.
type headed struct {
	mu      sync.Mutex
	out     history.Recorder
	begun   bool
	waiting []history.Event
}

// Record passes the event on, or keeps it until Begin.
func (h *headed) Record(e history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun {
		h.waiting = append(h.waiting, e)
		return
	}
	h.out.Record(e)
}

// Begin writes the description of the run and everything that waited for it.
// Later calls do nothing.
func (h *headed) Begin(head history.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.begun {
		return
	}
	h.begun = true
	h.out.Record(head)
	for _, e := range h.waiting {
		h.out.Record(e)
	}
	h.waiting = nil
}
