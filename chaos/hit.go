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

// hit is what one fault hits: the means to do something to it, and to look at it.
type hit struct {
	config Config
	plan   fault.Plan
	// When clocks were set wrong, and how exactly they were last seen to be so.
	clocksSet   int64
	clockMargin time.Duration
}

// onNodes calls f for all nodes at once; errors say what it was to do.
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

// inState says which of the nodes are not in the state.
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

// look asks the hosts that the fault hits for their probes. A host that does not
// answer is missing.
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
	// clockMargin is by how much a clock that was read may be off: as long as it takes to read
	// it, on a busy machine.
	clockMargin = 400 * time.Millisecond
	// seenDrift is by how much a clock that drifts must be wrong for that to be seen: it must
	// be wrong by what its rate says, within a half.
	seenDrift = 50 * time.Millisecond
	// clockTries is how often a clock is read that seems to be wrong: one slow answer of a busy
	// machine says nothing.
	clockTries = 3
)

// setClocks makes clocks wrong that were right.
func (h *hit) setClocks(ctx context.Context) error {
	if err := h.clocksAreRight(ctx); err != nil {
		return err
	}
	h.clocksSet = clock.Mono()
	return h.onNodes("set the clock of", h.plan.Clocks, func(nodes NodeControl, node string) error {
		return nodes.SetClock(ctx, node, h.plan.Step, cmp.Or(h.plan.Rate, 1))
	})
}

// wrongBy is by how much the fault has made clocks wrong by now, and within what that counts
// as seen.
func (h *hit) wrongBy() (off, margin time.Duration) {
	if h.plan.Rate == 0 {
		return h.plan.Step, clockMargin
	}
	off = time.Duration(float64(clock.Mono()-h.clocksSet) * (h.plan.Rate - 1))
	return off, min(off.Abs()/2, clockMargin)
}

// clocksAreWrong says which clock is not wrong as the fault has it.
func (h *hit) clocksAreWrong(ctx context.Context) error {
	off, margin := h.wrongBy()
	if len(h.plan.Clocks) > 0 && h.plan.Rate != 0 && off.Abs() < seenDrift {
		return fmt.Errorf("clocks have not drifted by %v yet", seenDrift)
	}
	h.clockMargin = margin
	return h.clocksAre(ctx, h.wrongBy)
}

// clocksAreRight says which clock is wrong.
func (h *hit) clocksAreRight(ctx context.Context) error {
	return h.clocksAre(ctx, func() (time.Duration, time.Duration) { return 0, cmp.Or(h.clockMargin, clockMargin) })
}

// clocksAre says which clock is not wrong by so much.
func (h *hit) clocksAre(ctx context.Context, want func() (off, margin time.Duration)) error {
	return each(h.plan.Clocks, func(node string) (err error) {
		for range clockTries {
			before, _ := want() // it was read at some time between the two
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

// disksAreHit says which disk is not wrong as the fault has it, or has not been used since: what
// nobody uses may be slow, and nobody would know. Once the fault was there for its time, it must also
// have shown itself.
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
