package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"locklab/internal/httpapi"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/nodes/role"
)

// NodeSpec is a node to start.
type NodeSpec struct {
	Name     string         `json:"-"` // in the path of a request
	Role     string         `json:"role"`
	Settings jsontext.Value `json:"settings,omitzero"` // for the role; nil for none
	// FakeClock runs it with a wall clock that [Client.SetClock] can set, if its role has one.
	FakeClock bool `json:"fake_clock,omitzero"`
	// Disk are the calls that [Client.SetDisk] can hold or refuse, "" none.
	Disk diskfault.Calls `json:"disk,omitzero"`
}

// RestartOptions say how a node comes back.
type RestartOptions struct {
	Wipe  bool          `json:"wipe,omitzero"`                 // with an empty data directory
	Delay time.Duration `json:"delay_ns,omitzero,format:nano"` // how long it stays down
}

// NodeStatus is what an agent knows of a node.
type NodeStatus struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// State is reserved, starting, ready, paused or ended.
	State string            `json:"state"`
	Addrs map[string]string `json:"addrs"`         // as others dial them
	PID   int               `json:"pid,omitzero"`  // while it runs
	Exit  string            `json:"exit,omitzero"` // how it ended: exit-1, signal-killed; absent for code 0
}

// node is one node of the host, through all its incarnations.
type node struct {
	agent *Agent
	name  string
	role  role.Role
	dir   string
	ports map[string]port

	op       sync.Mutex     // held while an operation changes what follows
	settings jsontext.Value // of the last start
	removed  bool
	fake     atomic.Bool // its clock can be set
	calls    diskfault.Calls

	mu    sync.Mutex
	child *child // the last incarnation, nil before the first
	// skew is what was asked of a foreign server's clock at skewed, zero if nothing was.
	skew   process.Skew
	skewed time.Time
	disk   *diskfault.Disk // nil if none of its calls can be stopped
}

// port is a port of a node, from when it is reserved until the node is removed: see reservePort.
type port struct {
	number  int
	release func()
}

func (n *node) addrs(host string) map[string]string {
	m := make(map[string]string, len(n.ports))
	for name, p := range n.ports {
		m[name] = net.JoinHostPort(host, strconv.Itoa(p.number))
	}
	return m
}

func (n *node) releasePorts() {
	for _, p := range n.ports {
		p.release()
	}
}

func (n *node) dataDir() string { return filepath.Join(n.dir, "data") }
func (n *node) logPath() string { return filepath.Join(n.dir, "log") }

func (n *node) current() *child {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.child
}

// running is the live incarnation, nil if there is none.
func (n *node) running() *child {
	if c := n.current(); c != nil && !c.isGone() {
		return c
	}
	return nil
}

func (n *node) status() NodeStatus {
	s := NodeStatus{Name: n.name, Role: n.role.Name, State: "reserved", Addrs: n.addrs(n.agent.cfg.Advertise)}
	c := n.current()
	switch {
	case c == nil:
		return s
	case c.isGone():
		s.State, s.Exit = "ended", c.exit
		return s
	case c.standsStill():
		s.State = "paused"
	case signals.Closed(c.ready):
		s.State = "ready"
	default:
		s.State = "starting"
	}
	s.PID = c.pid
	return s
}

// lock takes the node for an operation.
func (n *node) lock() error {
	n.op.Lock()
	if n.removed {
		n.op.Unlock()
		return fmt.Errorf("node %s was removed: %w", n.name, httpapi.ErrNotFound)
	}
	return nil
}

// start starts a node with an empty data directory and returns when it is ready.
// Starting one that already runs with the same settings waits for it only.
// Only a node's first start since it was reserved founds a service of servers (process.Config.First):
// after a stop of all raft servers, reset the agents before they start anew, or the service is never founded.
func (n *node) start(ctx context.Context, spec NodeSpec) error {
	err := n.lock()
	if err != nil {
		return err
	}
	c := n.running()
	spawned := c == nil
	if c != nil && !bytes.Equal(n.settings, spec.Settings) {
		err = fmt.Errorf("node %s runs with other settings: stop it first: %w", n.name, httpapi.ErrConflict)
	} else if spawned {
		n.settings = bytes.Clone(spec.Settings)
		n.fake.Store(spec.FakeClock && n.role.Clock != nil)
		n.calls = spec.Disk
		c, err = n.spawn(true)
	}
	n.op.Unlock()
	if err != nil {
		return err
	}
	return n.awaitReady(ctx, c, spawned)
}

// restart kills a node if it runs, and after the delay starts it again on the same
// addresses with the same settings; it returns when the node is ready.
func (n *node) restart(ctx context.Context, options RestartOptions) error {
	err := n.lock()
	if err != nil {
		return err
	}
	last := n.current()
	n.kill()
	n.op.Unlock()
	if last == nil {
		return fmt.Errorf("restart %s: it was never started: %w", n.name, httpapi.ErrConflict)
	}
	if err := clock.Sleep(ctx, options.Delay); err != nil {
		return fmt.Errorf("restart %s: it stays down: %w", n.name, err)
	}
	if err := n.lock(); err != nil {
		return err
	}
	var c *child
	if n.current() == last {
		c, err = n.spawn(options.Wipe)
	} else {
		err = fmt.Errorf("restart %s: it was started by somebody else during the delay: %w", n.name, httpapi.ErrConflict)
	}
	n.op.Unlock()
	if err != nil {
		return err
	}
	return n.awaitReady(ctx, c, true)
}

// spawn starts the next incarnation. The caller has locked the node.
func (n *node) spawn(wipe bool) (*child, error) {
	if wipe {
		if err := os.RemoveAll(n.dataDir()); err != nil {
			return nil, fmt.Errorf("node %s: wipe data: %w", n.name, err)
		}
	}
	if err := os.MkdirAll(n.dataDir(), 0o700); err != nil {
		return nil, fmt.Errorf("node %s: create data dir: %w", n.name, err)
	}
	prepared := n.prepared()
	command, err := n.command(prepared)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.name, err)
	}
	if n.fake.Load() {
		env, err := n.clockEnv(command.Path)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", n.name, err)
		}
		command.Env = append(command.Env, env...)
	}
	log, err := openLog(n.logPath())
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", n.name, err)
	}
	a := n.agent
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		log.close()
		return nil, fmt.Errorf("node %s: %w", n.name, httpapi.ErrClosed)
	}
	a.children.Add(1) // under the lock: Close waits for it
	a.mu.Unlock()
	defer a.children.Done()

	c, err := a.startChild(prepared, n.role, command, log, n.watched())
	if err != nil {
		log.close()
		return nil, fmt.Errorf("node %s: %w: %w", n.name, err, ErrStart)
	}
	n.mu.Lock()
	n.child = c
	n.mu.Unlock()
	if a.ctx.Err() != nil { // Close may have looked for the child before it was there
		c.end("killed", syscall.SIGKILL, true)
	}
	return c, nil
}

func (n *node) prepared() role.Node {
	return role.Node{
		Name: n.name, Dir: n.dataDir(), Addrs: n.addrs(n.agent.cfg.Bind),
		Settings: n.settings, Executable: n.agent.cfg.Executable,
	}
}

// command is what to run. For own roles it writes the config file that
// process.Run reads.
func (n *node) command(prepared role.Node) (role.Command, error) {
	var command role.Command
	if n.role.Command != nil {
		var err error
		if command, err = n.role.Command(prepared); err != nil {
			return role.Command{}, fmt.Errorf("role %s: %w: %w", n.role.Name, err, httpapi.ErrInvalid)
		}
	}
	if n.role.Main == nil {
		return command, nil
	}
	cfg := n.agent.cfg
	data, err := json.Marshal(process.Config{
		Name: n.name, Role: n.role.Name, Host: cfg.Host, Zone: cfg.Zone, First: n.current() == nil,
		Dir: prepared.Dir, Addrs: prepared.Addrs, Settings: prepared.Settings, MetricsToken: n.agent.metrics.token,
	})
	if err != nil {
		return role.Command{}, fmt.Errorf("settings are not JSON: %w: %w", err, httpapi.ErrInvalid)
	}
	path := filepath.Join(prepared.Dir, process.ConfigFile)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return role.Command{}, fmt.Errorf("write config: %w", err)
	}
	command.Path = cfg.Executable
	command.Args = append([]string{"node", n.role.Name, "--config", path}, command.Args...)
	return command, nil
}

// awaitReady returns when the incarnation is ready. Otherwise the error shows the end of its log, and the
// call that spawned it kills it.
func (n *node) awaitReady(ctx context.Context, c *child, spawned bool) error {
	asked := clock.Mono()
	ctx, cancel := context.WithTimeout(ctx, n.agent.cfg.StartTimeout)
	defer cancel()
	stop := context.AfterFunc(n.agent.ctx, cancel) //nolint:contextcheck // the agent's end ends the wait too
	defer stop()

	answered := make(chan error, 1)
	if n.role.Main == nil {
		go func() { answered <- n.role.Ready(ctx, c.Node) }()
	}
	var cause error
	select {
	case <-c.ready:
	case cause = <-answered:
		if cause == nil {
			c.markReady(asked)
		}
	case <-c.gone:
		cause = errors.New("it ended")
		if c.exit != "" {
			cause = fmt.Errorf("it ended with %s", c.exit)
		}
	case <-ctx.Done():
		cause = fmt.Errorf("it was not ready within %s: %w: %w", n.agent.cfg.StartTimeout, ErrLate, ctx.Err())
	}
	if cause == nil {
		return nil
	}
	if spawned {
		c.end("killed", syscall.SIGKILL, true)
		<-c.gone
	}
	return fmt.Errorf("start %s: %w: %w; %s", n.name, cause, ErrStart, tailOf(n.logPath()))
}

// kill kills the live incarnation, if there is one, and waits until it is gone.
func (n *node) kill() {
	if c := n.running(); c != nil {
		c.end("killed", syscall.SIGKILL, true)
		<-c.gone
	}
}

// stop ends the live incarnation, if there is one: with SIGTERM, and with SIGKILL if that does not help in
// time.
func (n *node) stop() {
	c := n.running()
	if c == nil {
		return
	}
	c.end("stopped", syscall.SIGTERM, false)
	if _, gone := clock.Await(clock.System(), n.agent.cfg.StopGrace, c.gone); !gone {
		c.end("stopped", syscall.SIGKILL, true)
		<-c.gone
	}
}

// pause stops a node with SIGSTOP, at once or at a point, and returns once it stands still.
func (n *node) pause(ctx context.Context, at pauseRequest) error {
	return n.onRunning("pause", func(c *child) error {
		if at.Point == "" {
			return c.pause()
		}
		return c.pauseAt(ctx, at.Point, at.Within)
	})
}

func (n *node) onRunning(verb string, do func(*child) error) error {
	c := n.running()
	if c == nil {
		return fmt.Errorf("%s %s: it does not run: %w", verb, n.name, httpapi.ErrConflict)
	}
	return do(c)
}
