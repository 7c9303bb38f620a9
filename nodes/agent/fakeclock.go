package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/nodes/fakeclock"
	"locklab/nodes/process"
)

// clockFile says by how much the node's wall clock is wrong. It is the machine's, not the
// process's: it outlives restarts.
func (n *node) clockFile() string { return filepath.Join(n.dir, "clock") }

// clockEnv is what makes the next incarnation, of that program, take its time from the file.
// A clock that drifted goes on to do so from where it was.
func (n *node) clockEnv(program string) ([]string, error) {
	now := clock.System().Now()
	skew, off := n.skewNow(now)
	if err := fakeclock.Set(n.clockFile(), off, skew.Rate, now); err != nil {
		return nil, err
	}
	return fakeclock.Env(program, n.clockFile())
}

// skewNow is what was asked of the node's clock, and by how much that makes it wrong now.
func (n *node) skewNow(now time.Time) (process.Skew, time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.skewed.IsZero() {
		return process.Skew{Rate: 1}, 0
	}
	return n.skew, n.skew.Offset + time.Duration(float64(now.Sub(n.skewed))*(n.skew.Rate-1))
}

// canSetClock says why the node's clock cannot be set; nil if it can.
func (n *node) canSetClock() error {
	switch {
	case n.role.OwnClock:
		return nil
	case n.role.Clock == nil:
		return fmt.Errorf("node %s: the clock of the role %s cannot be set: %w", n.name, n.role.Name, httpapi.ErrInvalid)
	case !n.fake.Load():
		return fmt.Errorf("node %s was not started with a clock that can be set: %w", n.name, httpapi.ErrConflict)
	}
	return nil
}

// setClock makes the node's wall clock wrong by so much, and run at a rate from then on: 1 is
// right.
func (n *node) setClock(ctx context.Context, skew process.Skew) error {
	if err := n.canSetClock(); err != nil {
		return err
	}
	if skew.Rate <= 0 {
		return fmt.Errorf("node %s: the rate of a clock is %v: want more than 0: %w", n.name, skew.Rate, httpapi.ErrInvalid)
	}
	if n.role.OwnClock {
		_, err := n.ask(ctx, process.Order{Clock: &skew})
		return err
	}
	c := n.current()
	if c == nil {
		return fmt.Errorf("node %s was never started: %w", n.name, httpapi.ErrConflict)
	}
	if err := fakeclock.Set(n.clockFile(), skew.Offset, skew.Rate, c.began); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skew, n.skewed = skew, clock.System().Now()
	return nil
}

// clockNow asks the node for the time. The offset is by how much that differs from this
// machine's, but for half of the time that the answer took.
func (n *node) clockNow(ctx context.Context) (skew process.Skew, err error) {
	if err := n.canSetClock(); err != nil {
		return skew, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	before := clock.System().Now()
	var at time.Time
	if n.role.OwnClock {
		var answer process.Answer
		answer, err = n.ask(ctx, process.Order{})
		at = time.Unix(0, answer.WallNS)
	} else {
		at, err = n.role.Clock(ctx, n.prepared().Addrs[n.role.ClientPort])
	}
	if err != nil {
		return skew, fmt.Errorf("node %s: read its clock: %w", n.name, err)
	}
	took := clock.System().Now().Sub(before)
	skew.Offset = at.Sub(before.Add(took / 2))
	return skew, nil
}
