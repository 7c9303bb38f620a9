package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"locklab/internal/httpapi"
	"locklab/internal/seed"
	"locklab/locks/clock"
	"locklab/nodes/role"
)

// Agent supervises the nodes of one host. It is safe for concurrent use.
type Agent struct {
	cfg     Config
	env     []string // what nodes inherit
	bind    netip.Addr
	starter *starter
	guard   *guard

	listener net.Listener
	served   chan struct{} // closed when the control API has ended, with serveErr
	serveErr error
	ctx      context.Context //nolint:containedctx // the agent's life: ends what runs on its behalf
	cancel   context.CancelFunc
	tasks    sync.WaitGroup // the server and the idle check
	children sync.WaitGroup
	requests activity
	metrics  *metrics

	mu       sync.Mutex
	closed   bool
	random   *rand.Rand // of ports
	nodes    map[string]*node
	log      *eventLog
	instance string // changes with every reset
}

// New starts an agent: it listens at once. Close ends it and all its nodes.
func New(cfg Config) (*Agent, error) {
	cfg.Bind = cmp.Or(cfg.Bind, cfg.Advertise)
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("create agent data dir: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	a := &Agent{
		cfg:      cfg,
		env:      inherited(),
		bind:     netip.MustParseAddr(cfg.Bind),
		random:   seed.Seed(uint64(clock.Mono())).Rand(),
		ctx:      ctx,
		cancel:   cancel,
		nodes:    map[string]*node{},
		log:      newEventLog(maxEventBytes),
		instance: httpapi.NewToken(),
		served:   make(chan struct{}),
	}
	a.metrics = newMetrics(a)
	var err error
	if a.guard, err = newGuard(cfg); err != nil {
		cancel()
		return nil, err
	}
	if err := a.listen(); err != nil {
		cancel()
		a.guard.close()
		return nil, err
	}
	a.starter = newStarter()
	a.tasks.Go(a.serve)
	a.tasks.Go(a.watchIdle)
	if cfg.Measure > 0 {
		a.tasks.Go(a.measure)
	}
	if cfg.Usage > 0 {
		a.tasks.Go(a.recordUsage)
	}
	return a, nil
}

// inherited is the environment without what is meant for the agent alone, such as
// its token.
func inherited() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "LOCKLAB_") })
	return slices.Clip(env)
}

// URL is where the control API answers.
func (a *Agent) URL() string { return "http://" + a.listener.Addr().String() }

// Close stops all nodes, SIGTERM first, and the control API, and waits for both.
func (a *Agent) Close() error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		a.tasks.Wait()
		return nil
	}
	a.closed = true
	a.mu.Unlock()

	a.cancel()
	<-a.served
	a.stopAll()
	a.children.Wait()
	a.tasks.Wait()
	a.starter.close()
	a.guard.close()
	for _, n := range a.sorted() {
		n.releasePorts()
	}
	return a.serveErr
}

// reset kills and removes every node with its data and forgets all events.
func (a *Agent) reset() error {
	nodes := a.sorted()
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = a.remove(n) })
	}
	wg.Wait()
	if a.cfg.OnReset != nil {
		a.cfg.OnReset()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log.end(fmt.Errorf("the agent was reset: %w", ErrEventsLost))
	a.log = newEventLog(maxEventBytes)
	a.instance = httpapi.NewToken()
	return errors.Join(errs...)
}

func (a *Agent) stopAll() {
	var wg sync.WaitGroup
	for _, n := range a.sorted() {
		wg.Go(n.stop)
	}
	wg.Wait()
}

// sorted are the nodes that there are now, by name.
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

// Nodes lists the nodes, sorted by name.
func (a *Agent) Nodes() []NodeStatus {
	nodes := a.sorted()
	all := make([]NodeStatus, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, n.status())
	}
	return all
}

// reserve gives a node its addresses, which it keeps until it is removed.
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
			return nil, fmt.Errorf("node %s has the role %s, not %s: remove it first: %w", name, n.role.Name, roleName, httpapi.ErrConflict)
		}
		return n, nil
	}
	n := &node{agent: a, name: name, role: r, dir: filepath.Join(a.cfg.DataDir, name), ports: map[string]port{}}
	for _, portName := range r.Ports {
		number, release, err := reservePort(a.bind, a.random)
		if err != nil {
			n.releasePorts()
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
		n.ports[portName] = port{number, release}
	}
	a.nodes[name] = n
	return n, nil
}

func (a *Agent) role(name string) (role.Role, error) {
	i := slices.IndexFunc(a.cfg.Roles, func(r role.Role) bool { return r.Name == name })
	if i < 0 {
		var known []string
		for _, r := range a.cfg.Roles {
			known = append(known, r.Name)
		}
		return role.Role{}, fmt.Errorf("role %q: this agent runs %s: %w", name, strings.Join(known, ", "), httpapi.ErrNotFound)
	}
	return a.cfg.Roles[i], nil
}

func (a *Agent) node(name string) (*node, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, ok := a.nodes[name]
	if !ok {
		return nil, fmt.Errorf("node %q: host %s has no such node: reserve or start it first: %w", name, a.cfg.Host, httpapi.ErrNotFound)
	}
	return n, nil
}

// remove kills a node if it runs, deletes its data and log, and gives its addresses back.
func (a *Agent) remove(n *node) error {
	if n.lock() != nil {
		return nil // it is gone already
	}
	defer n.op.Unlock()
	n.removed = true
	n.kill()
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

// version is the version of a role's server on this host.
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
