package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"locklab/chaos/fault"
	"locklab/chaos/link"
	"locklab/locks/clock"
)

// hit is one planned fault, with the means to apply it to its targets and to observe them.
type hit struct {
	config Config
	plan   fault.Plan
	// When the clocks were set wrong, and the margin at which they were last seen to be wrong.
	clocksSet   int64
	clockMargin time.Duration
}

// onNodes calls f for all nodes at once; errors name the verb and the node.
func (h *hit) onNodes(verb string, nodes []string, f func(nodes NodeControl, node string) error) error {
	return each(nodes, func(node string) error { return wrap(verb, node, f(h.config.Nodes[node], node)) })
}

func wrap(verb, node string, err error) error {
	if err != nil {
		return fmt.Errorf("%s node %s: %w", verb, node, err)
	}
	return nil
}

// eachImpairment calls f for all impairments of the plan at once.
func (h *hit) eachImpairment(verb string, f func(LinkControl, link.Impairment) error) error {
	return each(slices.Collect(maps.Keys(h.plan.Links)), func(host string) error {
		err := each(h.plan.Links[host], func(i link.Impairment) error { return f(h.config.Links[host], i) })
		if err != nil {
			err = fmt.Errorf("%s links of host %s: %w", verb, host, err)
		}
		return err
	})
}

// inState returns an error for the first node that is not in the state.
func (h *hit) inState(ctx context.Context, want string, nodes []string) error {
	for _, node := range nodes {
		state, err := h.config.Nodes[node].State(ctx, node)
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
func (h *hit) look(ctx context.Context) fault.Reports {
	var (
		hosts = map[string]bool{}
		mu    sync.Mutex
		seen  = fault.Reports{}
	)
	for _, p := range h.plan.Pairs {
		hosts[p.From], hosts[p.To] = true, true
	}
	err := each(slices.Collect(maps.Keys(hosts)), func(host string) error {
		asked := clock.Mono()
		report, err := h.config.Links[host].Probes(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			seen[host] = fault.Report{At: (asked + clock.Mono()) / 2, Report: report}
		}
		return err
	})
	if err != nil {
		h.config.Log.Debug("a host did not report its probes", "error", err)
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
func (h *hit) setClocks(ctx context.Context) error {
	if err := h.clocksAreRight(ctx); err != nil {
		return err
	}
	h.clocksSet = clock.Mono()
	return h.onNodes("set the clock of", h.plan.Clocks, func(nodes NodeControl, node string) error {
		return nodes.SetClock(ctx, node, h.plan.Step, cmp.Or(h.plan.Rate, 1))
	})
}

// wrongBy returns the offset that the clocks must have by now, and the margin within which it counts as seen.
func (h *hit) wrongBy() (off, margin time.Duration) {
	if h.plan.Rate == 0 {
		return h.plan.Step, clockMargin
	}
	off = time.Duration(float64(clock.Mono()-h.clocksSet) * (h.plan.Rate - 1))
	return off, min(off.Abs()/2, clockMargin)
}

// clocksAreWrong returns an error for each clock that is not wrong by what the fault says.
func (h *hit) clocksAreWrong(ctx context.Context) error {
	off, margin := h.wrongBy()
	if len(h.plan.Clocks) > 0 && h.plan.Rate != 0 && off.Abs() < seenDrift {
		return fmt.Errorf("clocks have not drifted by %v yet", seenDrift)
	}
	h.clockMargin = margin
	return h.clocksAre(ctx, h.wrongBy)
}

// clocksAreRight returns an error for each clock that is wrong.
func (h *hit) clocksAreRight(ctx context.Context) error {
	return h.clocksAre(ctx, func() (time.Duration, time.Duration) { return 0, cmp.Or(h.clockMargin, clockMargin) })
}

// clocksAre returns an error for each clock whose offset is not the wanted one.
func (h *hit) clocksAre(ctx context.Context, want func() (off, margin time.Duration)) error {
	return each(h.plan.Clocks, func(node string) (err error) {
		for range clockTries {
			before, _ := want() // the clock was read between the two
			offset, failed := h.config.Nodes[node].NodeClock(ctx, node)
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
func (h *hit) disksAreHit(ctx context.Context, shown bool) error {
	return each(h.plan.Disks, func(node string) error {
		seen, err := h.config.Nodes[node].Disk(ctx, node)
		switch {
		case err != nil:
			return wrap("look at the disk of", node, err)
		case seen.Disk != h.plan.Disk:
			return fmt.Errorf("the disk of node %s is not as the fault left it: somebody else has set it", node)
		case seen.Hit == 0:
			return fmt.Errorf("node %s has used its disk for nothing that the fault would hit", node)
		case !shown || seen.Done > 0 && seen.Least >= seen.Delay:
			return nil
		case h.plan.Disk.Full:
			return fmt.Errorf("no write of node %s was refused yet", node)
		default:
			return fmt.Errorf("no fsync of node %s has taken %v yet", node, h.plan.Disk.Delay)
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
