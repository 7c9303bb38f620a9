package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/internal/httpapi"
	"locklab/locks/clock"
	"locklab/nodes/role"
)

// Agent supervises the nodes of one host. It is safe for concurrent use.
type Agent struct {
	cfg      Config
	env      []string // the nodes' environment, without the agent's own variables, such as its token
	listener net.Listener
	ctx      context.Context //nolint:containedctx // ended by Close, for all goroutines of the agent
	cancel   context.CancelFunc
	serving  sync.WaitGroup // the control API, with serveErr
	serveErr error
	tasks    sync.WaitGroup // measurements, and the idle check
	children sync.WaitGroup
	heardNS  atomic.Int64 // when the last request of a controller came, on clock.Mono

	mu     sync.Mutex
	closed bool
	nodes  map[string]*node
	log    *eventLog // a new one after every reset
}

// New starts an agent, which listens at once. Close ends it and all its nodes.
func New(cfg Config) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("create agent data dir: %w", err)
	}
	a := &Agent{cfg: cfg, nodes: map[string]*node{}, log: newEventLog(maxEventBytes)}
	a.env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LOCKLAB_") })
	a.ctx, a.cancel = context.WithCancel(context.Background())
	var err error
	if a.listener, err = new(net.ListenConfig).Listen(a.ctx, "tcp", cfg.Listen); err != nil {
		a.cancel()
		return nil, fmt.Errorf("agent of %s: %w", cfg.Host, err)
	}
	a.serving.Go(a.serve)
	if cfg.IdleReset > 0 {
		a.tasks.Go(a.resetIdle)
	}
	if cfg.Measure > 0 {
		a.tasks.Go(a.measure)
	}
	if cfg.Usage > 0 {
		a.tasks.Go(a.recordUsage)
	}
	return a, nil
}

// URL is the URL of the control API.
func (a *Agent) URL() string { return "http://" + a.listener.Addr().String() }

// Close ends the control API and stops all nodes, first with SIGTERM. It waits for both.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	a.serving.Wait()
	_ = a.each(func(n *node) error { // a stop never fails
		n.stop()
		return nil
	})
	a.children.Wait()
	a.tasks.Wait()
	for _, n := range a.sorted() {
		n.releasePorts()
	}
	return a.serveErr
}

// reset kills and removes every node with its data and forgets all events.
func (a *Agent) reset() error {
	err := a.each(a.remove)
	if a.cfg.OnReset != nil {
		a.cfg.OnReset()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log.end(fmt.Errorf("the agent was reset: %w", ErrEventsLost))
	a.log = newEventLog(maxEventBytes)
	return err
}

// resetIdle resets the agent when no controller has called for IdleReset.
func (a *Agent) resetIdle() {
	a.heardNS.Store(clock.Mono())
	for clock.Sleep(a.ctx, a.cfg.IdleReset/4) == nil {
		if time.Duration(clock.Mono()-a.heardNS.Load()) < a.cfg.IdleReset || len(a.sorted()) == 0 {
			continue
		}
		a.cfg.Log.Warn("no controller for long, removing all nodes", "host", a.cfg.Host, "idle", a.cfg.IdleReset)
		if err := a.reset(); err != nil {
			a.cfg.Log.Error("reset failed", "host", a.cfg.Host, "error", err)
		}
	}
}

// each calls do for all nodes concurrently.
func (a *Agent) each(do func(*node) error) error {
	nodes := a.sorted()
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = do(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sorted returns the nodes by name.
func (a *Agent) sorted() []*node {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.SortedFunc(maps.Values(a.nodes), func(x, y *node) int { return strings.Compare(x.name, y.name) })
}

func (a *Agent) eventLog() *eventLog {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log
}

// PIDs returns the process IDs of the running nodes.
func (a *Agent) PIDs() (pids []int) {
	for _, n := range a.sorted() {
		if _, pid := n.state(); pid != 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// reserve makes a node, and gives it addresses until it is removed.
func (a *Agent) reserve(name, roleName string) (*node, error) {
	r, err := a.role(roleName)
	if err != nil {
		return nil, err
	}
	if !validName(name) {
		return nil, fmt.Errorf("node %q is not a name: want %s: %w", name, nameWanted, httpapi.ErrInvalid)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, fmt.Errorf("reserve %s: %w", name, httpapi.ErrClosed)
	}
	if n, ok := a.nodes[name]; ok {
		if n.role.Name != roleName {
			return nil, fmt.Errorf("node %s is of role %s, not %s: %w", name, n.role.Name, roleName, httpapi.ErrConflict)
		}
		return n, nil
	}
	n, err := newNode(a, name, r)
	if err == nil {
		a.nodes[name] = n
	}
	return n, err
}

func (a *Agent) role(name string) (role.Role, error) {
	var known []string
	for _, r := range a.cfg.Roles {
		if r.Name == name {
			return r, nil
		}
		known = append(known, r.Name)
	}
	return role.Role{}, fmt.Errorf("role %q: this agent runs %s: %w", name, strings.Join(known, ", "), httpapi.ErrNotFound)
}

func (a *Agent) node(name string) (*node, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := a.nodes[name]
	if !ok {
		return nil, fmt.Errorf("node %q: host %s has no such node: reserve or start it first: %w",
			name, a.cfg.Host, httpapi.ErrNotFound)
	}
	return n, nil
}

// adopt runs a goroutine that supervises a child; Close waits for it.
func (a *Agent) adopt(run func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return httpapi.ErrClosed
	}
	a.children.Go(run)
	return nil
}

// remove kills a node if it runs, deletes its data and log, and frees its addresses.
func (a *Agent) remove(n *node) error {
	if n.lock() != nil {
		return nil // already removed
	}
	defer n.op.Unlock()
	n.removed = true
	if n.kill(); n.disk != nil {
		n.disk.Close()
	}
	err := os.RemoveAll(n.dir) // before the name is free for a new node
	a.mu.Lock()
	delete(a.nodes, n.name)
	a.mu.Unlock()
	n.releasePorts()
	if err != nil {
		return fmt.Errorf("remove node %s: %w", n.name, err)
	}
	return nil
}

// version returns the version of a role's server on this host.
func (a *Agent) version(ctx context.Context, roleName string) (string, error) {
	r, err := a.role(roleName)
	if err != nil {
		return "", err
	}
	if r.Version == nil {
		return a.cfg.Version, nil
	}
	v, err := r.Version(ctx)
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", roleName, err)
	}
	return v, nil
}
