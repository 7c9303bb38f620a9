package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/chaos/fault"
	"locklab/internal/sentence"
	"locklab/locks/clock"
)

// patience is when a proof is given up: what others break takes its time, so it has
// until the fault is to end, or the run.
func (e *episode) patience(since, end int64) int64 {
	deadline := since + int64(e.config.ProofTime)
	if len(e.plan.External) > 0 {
		return max(deadline, end)
	}
	return deadline
}

// proveBegin waits until all that the fault should hit is seen to be hit.
func (e *episode) proveBegin(ctx context.Context) {
	applied := clock.Mono()
	deadline := min(e.patience(applied, e.until), max(e.until, applied+int64(e.config.ProofTime/2)))
	shown := e.links(e.asked, applied, fault.Proof.Begun)
	err := e.poll(ctx, deadline, func() (bool, error) {
		at, links := shown(ctx)
		nodes := errors.Join(e.inState(ctx, NodeEnded, e.plan.Kill), e.inState(ctx, NodePaused, e.plan.Pause),
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
	e.record(stateBegan, e.began, "")
}

// links looks whether the probes show a change, and since when. A fault that hits no link
// has none to show: it is there when it was applied.
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

// proveEnd waits until the traffic is seen to be back, and the processes are ready. A
// fault whose end was not seen has none.
func (e *episode) proveEnd(ctx context.Context) {
	healed := clock.Mono()
	shown := e.links(e.healAsked, healed, fault.Proof.Ended)
	nodes := slices.Concat(e.plan.Pause, e.plan.Disks, e.back)
	err := e.poll(ctx, e.patience(healed, e.end), func() (bool, error) {
		at, links := shown(ctx)
		err := errors.Join(links, e.inState(ctx, NodeReady, nodes), e.clocksAreRight(ctx))
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
		e.ended = clock.Mono() // the run is over: as far as anybody will see
	default:
		e.unproven(err)
	}
}

// proveLength wants the fault to have been in force, in the measured part, for about as
// long as it was meant to. What others break takes its own time to begin.
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

// inState says which of the nodes are not in the state.
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

// look asks the hosts that the fault hits for their probes. A host that does not
// answer is missing.
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

func (e *episode) unproven(why error) {
	if e.why == "" {
		e.why = strings.ReplaceAll(why.Error(), "\n", "; ") // of joined errors
	}
	e.config.Log.Warn("fault is not proven", "fault", e.id, "target", e.target, "error", why)
	e.record(stateUnproven, clock.Mono(), e.why)
}
