package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/nodes/fakeclock"
)

// clockFile says by how much the node's wall clock is wrong. It is the machine's, not the
// process's: it outlives restarts.
func (n *node) clockFile() string { return filepath.Join(n.dir, "clock") }

// clockEnv is what makes the next incarnation, of that program, take its time from the file.
func (n *node) clockEnv(program string) ([]string, error) {
	if _, err := os.Stat(n.clockFile()); errors.Is(err, fs.ErrNotExist) {
		if err := fakeclock.Set(n.clockFile(), 0); err != nil {
			return nil, err
		}
	}
	return fakeclock.Env(program, n.clockFile())
}

// clocked is a node whose clock can be set.
func (a *Agent) clocked(name string) (*node, error) {
	n, err := a.node(name)
	if err != nil {
		return nil, err
	}
	switch {
	case n.role.Clock == nil:
		return nil, fmt.Errorf("node %s: the clock of the role %s cannot be set: %w", name, n.role.Name, httpapi.ErrInvalid)
	case !n.fake.Load():
		return nil, fmt.Errorf("node %s was not started with a clock that can be set: %w", name, httpapi.ErrConflict)
	}
	return n, nil
}

// SetClock makes the node's wall clock wrong by so much.
func (a *Agent) SetClock(name string, offset time.Duration) error {
	n, err := a.clocked(name)
	if err != nil {
		return err
	}
	return fakeclock.Set(n.clockFile(), offset)
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
	at, err := n.role.Clock(ctx, n.prepared().Addrs[n.role.ClientPort])
	if err != nil {
		return 0, fmt.Errorf("node %s: read its clock: %w", name, err)
	}
	took := clock.System().Now().Sub(before)
	return at.Sub(before.Add(took / 2)), nil
}
