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

// clocked is a node whose clock can be set.
func (a *Agent) clocked(name string) (*node, error) {
	n, err := a.node(name)
	if err != nil {
		return nil, err
	}
	switch {
	case n.role.OwnClock:
	case n.role.Clock == nil:
		return nil, fmt.Errorf("node %s: the clock of the role %s cannot be set: %w", name, n.role.Name, httpapi.ErrInvalid)
	case !n.fake.Load():
		return nil, fmt.Errorf("node %s was not started with a clock that can be set: %w", name, httpapi.ErrConflict)
	}
	return n, nil
}

// SetClock makes the node's wall clock wrong by so much, and run at a rate from then on: 1 is
// right.
func (a *Agent) SetClock(ctx context.Context, name string, skew process.Skew) error {
	n, err := a.clocked(name)
	if err != nil {
		return err
	}
	if skew.Rate <= 0 {
		return fmt.Errorf("node %s: the rate of a clock is %v: want more than 0: %w", name, skew.Rate, httpapi.ErrInvalid)
	}
	if n.role.OwnClock {
		_, err := a.ask(ctx, n, process.Order{Clock: &skew})
		return err
	}
	c := n.current()
	if c == nil {
		return fmt.Errorf("node %s was never started: %w", name, httpapi.ErrConflict)
	}
	if err := fakeclock.Set(n.clockFile(), skew.Offset, skew.Rate, c.began); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skew, n.skewed = skew, clock.System().Now()
	return nil
}

// ClockOffset asks the node for the time, and says by how much it differs from this
// machine's, but for half of the time that the answer took.
func (a *Agent) ClockOffset(ctx context.Context, name string) (time.Duration, error) {
	n, err := a.clocked(name)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	before := clock.System().Now()
	at, err := a.timeOf(ctx, n)
	if err != nil {
		return 0, fmt.Errorf("node %s: read its clock: %w", name, err)
	}
	took := clock.System().Now().Sub(before)
	return at.Sub(before.Add(took / 2)), nil
}

func (a *Agent) timeOf(ctx context.Context, n *node) (time.Time, error) {
	if !n.role.OwnClock {
		return n.role.Clock(ctx, n.prepared().Addrs[n.role.ClientPort])
	}
	answer, err := a.ask(ctx, n, process.Order{})
	return time.Unix(0, answer.WallNS), err
}
