package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/chaos"
	"locklab/locks/clock"
	"locklab/workloads/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder keeps what is recorded.
type recorder struct {
	mu     sync.Mutex
	events []history.Event
}

func (r *recorder) Record(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// states are the states that a fault went through.
func (r *recorder) states(id string) (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.ID == id {
			all = append(all, e.State)
		}
	}
	return all
}

// nodes are processes that do what they are told, at once.
type nodes struct {
	mu     sync.Mutex
	state  map[string]chaos.NodeState
	calls  []string
	holder string
	fails  error
}

func newNodes(names ...string) *nodes {
	n := &nodes{state: map[string]chaos.NodeState{}}
	for _, name := range names {
		n.state[name] = chaos.NodeReady
	}
	return n
}

func (n *nodes) set(call, node string, state chaos.NodeState) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = append(n.calls, call+" "+node)
	if n.fails != nil {
		return n.fails
	}
	n.state[node] = state
	return nil
}

func (n *nodes) called() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(slices.Values(n.calls))
}

func (n *nodes) Kill(_ context.Context, node string) error {
	return n.set("kill", node, chaos.NodeEnded)
}

func (n *nodes) Pause(_ context.Context, node string) error {
	return n.set("pause", node, chaos.NodePaused)
}

func (n *nodes) Resume(_ context.Context, node string) error {
	return n.set("resume", node, chaos.NodeReady)
}

func (n *nodes) Restart(ctx context.Context, node string, wipe bool, delay time.Duration) error {
	timer := clock.System().NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-ctx.Done():
		return ctx.Err()
	}
	return n.set(fmt.Sprintf("restart wipe=%v delay=%v", wipe, delay.Round(10*time.Millisecond)), node, chaos.NodeReady)
}

func (n *nodes) State(_ context.Context, node string) (chaos.NodeState, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	state, ok := n.state[node]
	if !ok {
		return "", errors.New("no such node")
	}
	return state, nil
}

func (n *nodes) Holder(context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.holder, nil
}

func (n *nodes) Leader(context.Context) (string, error) {
	return "", errors.New("this lock has no leader")
}
