package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/chaos/scenario"
	"locklab/internal/damage"
	"locklab/internal/sentence"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

// Run executes a scenario's timeline. The measured part begins (or began) at start, on clock.Mono, and takes
// measured. Run returns when the last fault is healed; healing begins at the latest when the measured part or
// ctx ends. Processes killed for the rest of the run stay dead. The error names what could not be healed; a
// fault that could not be begun or seen is recorded as not proven.
func Run(ctx context.Context, config Config, s scenario.Scenario, measured time.Duration, start int64) error {
	return each(s.Schedule(measured), func(p scenario.Scheduled) error {
		e := &episode{
			config: config, fault: p.Step.Fault, id: p.ID, target: p.Step.Fault.Target,
			from: start + int64(p.Window.From), until: start + int64(p.Window.Until),
			end: start + int64(max(measured, config.Lasts)),
		}
		return e.run(ctx)
	})
}

const (
	// pollInterval is how often probes and processes are checked during a proof.
	pollInterval = 10 * time.Millisecond
	// lookAhead is how long before a fault the probes are read that it is compared with.
	lookAhead = time.Second
	// healTime bounds the healing of everything when the run is over.
	healTime = 15 * time.Second
	// lengthMargin is how much shorter than meant a fault may be, at most by half: to begin and prove it
	// takes a moment.
	lengthMargin = 100 * time.Millisecond
	// leaseMargin is added to Away for nodes that lost their data.
	leaseMargin = 250 * time.Millisecond
)

// episode is one fault from its beginning to its end.
type episode struct {
	config           Config
	fault            fault.Fault
	id               string // in the history
	target           string // with the node that is hit, once it is found
	from, until, end int64  // of the fault; end is that of the measured part
	// healed is closed when the end of a fault by hand is requested; nil for a fault with a fixed time.
	healed <-chan struct{}

	// When it was requested, seen to begin, requested to end, and seen to have ended; 0 is never.
	asked, began, healAsked, ended int64

	why      string // the reason that it is not proven
	plan     fault.Plan
	planned  bool          // the plan is made, and its target does not move
	before   fault.Reports // what the probes saw before the fault
	meant    time.Duration // how long it was to last, in the measured part
	killedAt int64
	back     []string // killed nodes that were started again
	gone     []string // killed nodes that stay away to the end of the run
	external bool     // the external program was started, so it has to be stopped

	// When the clocks were set wrong, and the margin at which they were last seen to be wrong.
	clocksSet   int64
	clockMargin time.Duration
}

// run carries out the fault; the error names what could not be healed.
func (e *episode) run(ctx context.Context) error {
	// Reading the probes makes the hosts probe each other often in the second before a fault of links.
	if !e.fault.Moves() && e.wait(ctx, e.from-int64(lookAhead)) && e.makePlan(ctx) == nil {
		e.ready(ctx)
	}
	if !e.wait(ctx, e.from) {
		return nil
	}
	err := e.prepare(ctx)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the run ended before the fault began
	}
	e.asked = clock.Mono()
	e.record(history.FaultAsked, e.asked, "")
	if err != nil {
		e.unproven(err)
		return nil
	}
	e.startsAt(e.asked)
	e.meant = time.Duration(e.until - e.from)
	if err := e.begin(ctx); err != nil {
		e.unproven(err)
	} else {
		e.proveBegin(ctx)
	}
	if e.began != 0 {
		e.startsAt(e.began)
	}
	e.lasts(ctx)
	return e.over(ctx)
}

// startsAt moves the fault to a later start and keeps its length, up to the end of the measured part.
func (e *episode) startsAt(at int64) {
	e.from, e.until = at, min(e.until+at-e.from, e.end)
}

// lasts waits for as long as the fault is to be in force.
func (e *episode) lasts(ctx context.Context) {
	if e.healed == nil || e.fault.Instant {
		e.wait(ctx, e.until)
		return
	}
	select {
	case <-e.healed:
	case <-ctx.Done():
	}
}

// makePlan plans the fault, again at each call if its target moves.
func (e *episode) makePlan(ctx context.Context) (err error) {
	if !e.planned {
		e.plan, err = e.fault.Plan(ctx, e.id, e.config.Inventory, e.config.Resolver)
		e.planned = err == nil && !e.fault.Moves()
	}
	return err
}

// ready says whether the probes before the fault suffice to compare with.
func (e *episode) ready(ctx context.Context) bool {
	if e.plan.Proof == nil || e.plan.Proof.Adds() == 0 {
		return true
	}
	e.before = e.look(ctx)
	return fault.NewChange(e.plan, e.before, 0, 0).Compares()
}

// prepare plans the fault. It tries for ProofTime, because a holder, leader or primary may be missing for a
// moment.
func (e *episode) prepare(ctx context.Context) error {
	looking, cancel := context.WithTimeout(ctx, e.config.ProofTime)
	defer cancel()
	err := e.poll(looking, clock.Mono()+int64(e.config.ProofTime), func() (done bool, err error) {
		err = e.makePlan(looking)
		return err == nil || !e.fault.Moves(), err
	})
	if err != nil {
		e.plan = fault.Plan{Aim: e.fault.Aim} // nothing was hit
		return err
	}
	if e.fault.Moves() {
		e.target += " (" + e.plan.Aim.Node + ")"
	}
	for !e.ready(ctx) && e.wait(looking, clock.Mono()+int64(pollInterval)) { // the proof says what was missing
	}
	return ctx.Err()
}

// begin applies the plan to all hosts at once, but kills first: processes alive behind cut links would act as
// in a partition.
func (e *episode) begin(ctx context.Context) error {
	err := e.onNodes("kill", e.plan.Kill, func(nodes NodeControl, node string) error {
		if slices.Contains(e.plan.Cut, node) {
			return e.cutPower(ctx, node)
		}
		return nodes.Kill(ctx, node)
	})
	err = errors.Join(err, atOnce(
		func() error {
			return e.eachImpairment("impair", func(links LinkControl, i link.Impairment) error { return links.Apply(ctx, i) })
		},
		func() error {
			return e.onNodes("pause", e.plan.Pause, func(nodes NodeControl, node string) error {
				return nodes.Pause(ctx, node, e.plan.Point, e.config.ProofTime)
			})
		},
		func() error { return e.setClocks(ctx) },
		func() error {
			return e.onNodes("break the disk of", e.plan.Disks, func(nodes NodeControl, node string) error {
				return nodes.SetDisk(ctx, node, e.plan.Disk)
			})
		},
		func() error { return e.startExternal(ctx) },
	))
	e.killedAt = clock.Mono()
	return err
}

func (e *episode) cutPower(ctx context.Context, node string) error {
	lost, err := e.config.Nodes[node].CutPower(ctx, node, e.plan.Power)
	if err == nil {
		event := e.event(history.FaultLost, clock.Mono())
		event.Lost = &lost
		e.config.Recorder.Record(event)
	}
	return err
}

func (e *episode) startExternal(ctx context.Context) error {
	if len(e.plan.External) == 0 {
		return nil
	}
	e.external = true // also if it fails to begin
	return e.config.External.Start(ctx, e.plan.External, e.plan.Gone)
}

// over heals the fault. Unless the run is over, it then brings everything back and proves the end.
func (e *episode) over(ctx context.Context) error {
	e.healAsked = clock.Mono()
	e.record(history.FaultHealAsked, e.healAsked, "")
	last := ctx.Err() != nil || e.healAsked >= e.end
	var stood error // targets must have stayed paused, dead or broken until the heal
	if ctx.Err() == nil && e.began != 0 {
		stood = errors.Join(e.inState(ctx, history.NodePaused, e.plan.Pause), e.clocksAreWrong(ctx), e.disksAreHit(ctx, true))
		if !e.fault.Instant {
			stood = errors.Join(stood, e.inState(ctx, history.NodeEnded, e.plan.Kill))
		}
	}
	healCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healTime)
	passed, err := e.heal(healCtx)
	err = errors.Join(err, e.stopExternal(context.WithoutCancel(ctx)))
	cancel()
	if before := errors.Join(stood, passed); before != nil && ctx.Err() == nil {
		e.unproven(fmt.Errorf("before it was healed: %w", before))
	}
	switch {
	case err != nil:
		e.unproven(err)
	case last:
		e.ended = clock.Mono()
	default:
		e.comeBack(ctx)
		e.proveEnd(ctx)
		if e.ended != 0 && len(e.gone) > 0 { // for these nodes the fault goes on
			e.record(history.FaultAway, e.ended, strings.Join(e.gone, ", "))
			e.ended = 0
		}
	}
	if ctx.Err() == nil {
		e.proveLength()
	}
	if e.ended != 0 {
		e.record(history.FaultEnded, e.ended, "")
	}
	return err
}

// heal removes impairments, resumes processes and mends clocks and disks. It retries, because leftovers would
// spoil the next run. passed names bytes of the workload that passed an impaired link.
func (e *episode) heal(ctx context.Context) (passed, err error) {
	again := func(f func() error) error {
		return e.poll(ctx, clock.Mono()+int64(healTime/2), func() (bool, error) {
			err := f()
			return err == nil, err
		})
	}
	mend := func(nodes []string, verb string, f func(nodes NodeControl, node string) error) func() error {
		return func() error {
			return e.onNodes(verb, nodes, func(on NodeControl, node string) error {
				return again(func() error { return f(on, node) })
			})
		}
	}
	var mu sync.Mutex
	err = atOnce(
		func() error {
			return e.eachImpairment("heal", func(links LinkControl, i link.Impairment) error {
				return again(func() error {
					contradicted, err := links.Heal(ctx, i.ID)
					mu.Lock()
					defer mu.Unlock()
					if contradicted != "" {
						passed = errors.Join(passed, errors.New(contradicted))
					}
					return err
				})
			})
		},
		mend(e.plan.Pause, "resume", func(nodes NodeControl, node string) error { return nodes.Resume(ctx, node) }),
		mend(e.plan.Clocks, "set right the clock of", func(nodes NodeControl, node string) error {
			return nodes.SetClock(ctx, node, 0, 1)
		}),
		mend(e.plan.Disks, "mend the disk of", func(nodes NodeControl, node string) error {
			return nodes.SetDisk(ctx, node, damage.Disk{})
		}),
	)
	return passed, err
}

// stopExternal ends an external fault and waits for its program.
func (e *episode) stopExternal(ctx context.Context) error {
	if !e.external {
		return nil
	}
	if err := e.config.External.Stop(ctx, e.plan.External); err != nil {
		return fmt.Errorf("end external fault %s: %w", e.id, err)
	}
	return nil
}

// comeBack restarts nodes that were killed or could not write. A node that loses its data waits for Away
// first, or stays away if the run ends before that.
func (e *episode) comeBack(ctx context.Context) {
	left := max(time.Duration(e.killedAt-clock.Mono())+e.config.Away+leaseMargin, 0)
	wiped, back := func(node string) bool { return slices.Contains(e.plan.Wipe, node) }, clock.Mono()+int64(left)
	for _, node := range e.plan.Restarted() {
		if wiped(node) && back >= e.end {
			e.config.Log.Info("node stays away to the end of the run", "node", node, "fault", e.id)
			e.gone = append(e.gone, node)
		} else {
			e.back = append(e.back, node)
		}
	}
	err := e.onNodes("restart", e.back, func(nodes NodeControl, node string) error {
		if wiped(node) && !e.wait(ctx, back) {
			return ctx.Err()
		}
		ctx, cancel := context.WithTimeout(ctx, healTime)
		defer cancel()
		return nodes.Restart(ctx, node, wiped(node))
	})
	if err != nil && ctx.Err() == nil {
		e.unproven(err)
	}
}

// patience is the deadline of a proof. An external fault, which takes its own time, has until the given end.
func (e *episode) patience(since, end int64) int64 {
	deadline := since + int64(e.config.ProofTime)
	if len(e.plan.External) > 0 {
		return max(deadline, end)
	}
	return deadline
}

// proveBegin waits until the fault is seen on everything that it should hit.
func (e *episode) proveBegin(ctx context.Context) {
	applied := clock.Mono()
	deadline := min(e.patience(applied, e.until), max(e.until, applied+int64(e.config.ProofTime/2)))
	shown := e.links(e.asked, applied, fault.Proof.Begun)
	err := e.poll(ctx, deadline, func() (bool, error) {
		at, links := shown(ctx)
		nodes := errors.Join(e.inState(ctx, history.NodeEnded, e.plan.Kill), e.inState(ctx, history.NodePaused, e.plan.Pause),
			e.clocksAreWrong(ctx), e.disksAreHit(ctx, false))
		if len(e.plan.Kill)+len(e.plan.Pause)+len(e.plan.Clocks)+len(e.plan.Disks) > 0 {
			at = clock.Mono()
		}
		e.began = at
		err := errors.Join(links, nodes)
		return err == nil, err
	})
	if err != nil {
		e.began = 0
		e.unproven(err)
		return
	}
	e.record(history.FaultBegan, e.began, "")
}

// links returns a function that checks whether the probes show a change, and since when. A fault that hits no
// link counts as shown when it was applied.
func (e *episode) links(asked, applied int64,
	shows func(fault.Proof, *fault.Change, fault.Reports) (int64, error),
) func(context.Context) (int64, error) {
	c := fault.NewChange(e.plan, e.before, asked, applied)
	return func(ctx context.Context) (int64, error) {
		if e.plan.Proof == nil {
			return applied, nil
		}
		return shows(e.plan.Proof, c, e.look(ctx))
	}
}

// proveEnd waits until the traffic is back and the processes are ready. If that is not seen, the fault has no
// end.
func (e *episode) proveEnd(ctx context.Context) {
	healed := clock.Mono()
	shown := e.links(e.healAsked, healed, fault.Proof.Ended)
	nodes := slices.Concat(e.plan.Pause, e.plan.Disks, e.back)
	err := e.poll(ctx, e.patience(healed, e.end), func() (bool, error) {
		at, links := shown(ctx)
		err := errors.Join(links, e.inState(ctx, history.NodeReady, nodes), e.clocksAreRight(ctx))
		if len(nodes)+len(e.plan.Clocks) > 0 {
			at = clock.Mono()
		}
		if err == nil {
			e.ended = at
		}
		return err == nil, err
	})
	switch {
	case err == nil:
	case ctx.Err() != nil:
		e.ended = clock.Mono() // it ends with the run
	default:
		e.unproven(err)
	}
}

// proveLength records the fault as unproven if it was in force for too little of the measured part. External
// faults are exempt: they take their own time to begin.
func (e *episode) proveLength() {
	if e.why != "" || e.healed != nil {
		return
	}
	lasted := time.Duration(min(e.healAsked, e.end) - e.began)
	missing := e.meant - lasted
	if len(e.plan.External) > 0 || e.meant == 0 {
		missing = 0
	}
	if e.began >= e.end || missing > max(e.meant/4, min(lengthMargin, e.meant/2)) {
		e.unproven(fmt.Errorf("it was in force for %v of the measured part, and meant to be for %v",
			sentence.Lasting(max(lasted, 0)), sentence.Lasting(e.meant)))
	}
}

func (e *episode) unproven(why error) {
	if e.why == "" {
		e.why = strings.ReplaceAll(why.Error(), "\n", "; ") // of joined errors
	}
	e.config.Log.Warn("fault is not proven", "fault", e.id, "target", e.target, "error", why)
	e.record(history.FaultUnproven, clock.Mono(), e.why)
}

// poll calls f until it is done or the deadline has passed; then its last error
// is returned.
func (e *episode) poll(ctx context.Context, deadline int64, f func() (done bool, err error)) error {
	for {
		done, err := f()
		if done || (err != nil && clock.Mono() >= deadline) {
			return err
		}
		if !e.wait(ctx, clock.Mono()+int64(pollInterval)) {
			return cmp.Or(err, ctx.Err())
		}
	}
}

// wait is false if ctx ended first.
func (e *episode) wait(ctx context.Context, until int64) bool {
	_, ended := clock.Await(clock.System(), max(time.Duration(until-clock.Mono()), 0), ctx.Done())
	return !ended && ctx.Err() == nil
}

func (e *episode) record(state string, at int64, why string) {
	event := e.event(state, at)
	event.Error = why
	e.config.Recorder.Record(event)
}

func (e *episode) event(state string, at int64) history.Event {
	adds := time.Duration(0)
	if e.plan.Proof != nil {
		adds = e.plan.Proof.Adds()
	}
	var aim *history.Aim
	if e.plan.Aim != (history.Aim{}) {
		aim = &e.plan.Aim
	}
	return history.Event{
		Kind: history.KindFault, AtNS: at, ID: e.id, Fault: e.fault.Kind, Target: e.target, State: state,
		Aim: aim, From: e.plan.From, To: e.plan.To, Nodes: e.plan.Nodes(), DelayNS: int64(adds),
	}
}

// onNodes calls f for all nodes at once; errors name the verb and the node.
func (e *episode) onNodes(verb string, nodes []string, f func(nodes NodeControl, node string) error) error {
	return each(nodes, func(node string) error { return wrap(verb, node, f(e.config.Nodes[node], node)) })
}

func wrap(verb, node string, err error) error {
	if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, node, err)
	}
	return nil
}

// eachImpairment calls f for all impairments of the plan at once.
func (e *episode) eachImpairment(verb string, f func(LinkControl, link.Impairment) error) error {
	return each(slices.Collect(maps.Keys(e.plan.Links)), func(host string) error {
		err := each(e.plan.Links[host], func(i link.Impairment) error { return f(e.config.Links[host], i) })
		if err != nil {
			err = fmt.Errorf("%s links of host %s: %w", verb, host, err)
		}
		return err
	})
}

// inState returns an error for the first node that is not in the state.
func (e *episode) inState(ctx context.Context, want string, nodes []string) error {
	for _, node := range nodes {
		state, err := e.config.Nodes[node].State(ctx, node)
		if err != nil {
			return wrap("look at", node, err)
		}
		if state != want {
			return fmt.Errorf("node %s is %s, not %s", node, state, want)
		}
	}
	return nil
}

// look collects the probe reports of the hosts that the fault hits, without hosts that do not answer.
func (e *episode) look(ctx context.Context) fault.Reports {
	var (
		hosts = map[string]bool{}
		mu    sync.Mutex
		seen  = fault.Reports{}
	)
	for _, p := range e.plan.Pairs {
		hosts[p.From], hosts[p.To] = true, true
	}
	err := each(slices.Collect(maps.Keys(hosts)), func(host string) error {
		asked := clock.Mono()
		report, err := e.config.Links[host].Probes(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			seen[host] = fault.Report{At: (asked + clock.Mono()) / 2, Report: report}
		}
		return err
	})
	if err != nil {
		e.config.Log.Debug("a host did not report its probes", "error", err)
	}
	return seen
}

const (
	// clockMargin is the error of a clock reading: how long it takes to read one on a busy machine.
	clockMargin = 400 * time.Millisecond
	// seenDrift is the least drift that is tested: then a clock must be wrong by what its rate says, within a
	// half.
	seenDrift = 50 * time.Millisecond
	// clockTries is how many readings must be wrong in a row: a busy machine may answer late once.
	clockTries = 3
)

// setClocks checks that the clocks are right, then sets them wrong.
func (e *episode) setClocks(ctx context.Context) error {
	if err := e.clocksAreRight(ctx); err != nil {
		return err
	}
	e.clocksSet = clock.Mono()
	return e.onNodes("set the clock of", e.plan.Clocks, func(nodes NodeControl, node string) error {
		return nodes.SetClock(ctx, node, e.plan.Step, cmp.Or(e.plan.Rate, 1))
	})
}

// wrongBy returns the offset that the clocks must have by now, and the margin within which it counts as seen.
func (e *episode) wrongBy() (off, margin time.Duration) {
	if e.plan.Rate == 0 {
		return e.plan.Step, clockMargin
	}
	off = time.Duration(float64(clock.Mono()-e.clocksSet) * (e.plan.Rate - 1))
	return off, min(off.Abs()/2, clockMargin)
}

// clocksAreWrong returns an error for each clock that is not wrong by what the fault says.
func (e *episode) clocksAreWrong(ctx context.Context) error {
	off, margin := e.wrongBy()
	if len(e.plan.Clocks) > 0 && e.plan.Rate != 0 && off.Abs() < seenDrift {
		return fmt.Errorf("clocks have not drifted by %v yet", seenDrift)
	}
	e.clockMargin = margin
	return e.clocksAre(ctx, e.wrongBy)
}

// clocksAreRight returns an error for each clock that is wrong.
func (e *episode) clocksAreRight(ctx context.Context) error {
	return e.clocksAre(ctx, func() (time.Duration, time.Duration) { return 0, cmp.Or(e.clockMargin, clockMargin) })
}

// clocksAre returns an error for each clock whose offset is not the wanted one.
func (e *episode) clocksAre(ctx context.Context, want func() (off, margin time.Duration)) error {
	return each(e.plan.Clocks, func(node string) (err error) {
		for range clockTries {
			before, _ := want() // the clock was read between the two
			offset, failed := e.config.Nodes[node].NodeClock(ctx, node)
			after, margin := want()
			if failed == nil && offset >= min(before, after)-margin && offset <= max(before, after)+margin {
				return nil
			}
			if err = wrap("read the clock of", node, failed); err == nil {
				err = fmt.Errorf("the clock of node %s is off by %v, not by %v", node, offset.Round(time.Millisecond),
					after.Round(time.Millisecond))
			}
		}
		return err
	})
}

// disksAreHit returns an error for each disk that is not set as the fault has it, or was not used since: a
// slow disk that nothing uses proves nothing. With shown, a write must have been refused, or an fsync
// delayed, too.
func (e *episode) disksAreHit(ctx context.Context, shown bool) error {
	return each(e.plan.Disks, func(node string) error {
		seen, err := e.config.Nodes[node].Disk(ctx, node)
		switch {
		case err != nil:
			return wrap("look at the disk of", node, err)
		case seen.Disk != e.plan.Disk:
			return fmt.Errorf("the disk of node %s is not as the fault left it: somebody else has set it", node)
		case seen.Hit == 0:
			return fmt.Errorf("node %s has used its disk for nothing that the fault would hit", node)
		case !shown || seen.Done > 0 && seen.Least >= seen.Delay:
			return nil
		case e.plan.Disk.Full:
			return fmt.Errorf("no write of node %s was refused yet", node)
		default:
			return fmt.Errorf("no fsync of node %s has taken %v yet", node, e.plan.Disk.Delay)
		}
	})
}

// atOnce runs functions at once and joins their errors.
func atOnce(all ...func() error) error {
	return each(all, func(f func() error) error { return f() })
}

// each calls f for all items at once and joins the errors, in the order of the items.
func each[T any](all []T, f func(T) error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for n, item := range all {
		wg.Go(func() { errs[n] = f(item) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
