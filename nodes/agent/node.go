package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"locklab/internal/damage"
	"locklab/internal/httpapi"
	"locklab/internal/pdeathsig"
	"locklab/internal/signals"
	"locklab/locks/clock"
	"locklab/nodes/diskfault"
	"locklab/nodes/process"
	"locklab/nodes/role"
	"locklab/workloads/history"
)

// node is one node of the host, through all its incarnations.
type node struct {
	agent *Agent
	name  string
	role  role.Role
	dir   string
	ports map[string]int // reserved until the node is removed
	held  []io.Closer    // hold the ports: see reservePort

	op      sync.Mutex // held during an operation
	spec    NodeSpec   // of the last start
	removed bool

	mu    sync.Mutex
	child *child // the last incarnation, nil before the first
	// Faults of the machine outlive restarts: skew was set on the node's clock at skewed, and disk is nil if
	// the node's calls are not watched.
	skew   process.Skew
	skewed time.Time
	disk   *diskfault.Disk
}

func newNode(a *Agent, name string, of role.Role) (*node, error) {
	n := &node{agent: a, name: name, role: of, dir: filepath.Join(a.cfg.DataDir, name), ports: map[string]int{}}
	for _, portName := range of.Ports {
		port, held, err := reservePort(netip.MustParseAddr(a.cfg.Bind))
		if err != nil {
			n.releasePorts()
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
		n.ports[portName], n.held = port, append(n.held, held)
	}
	return n, nil
}

func (n *node) addrs(host string) map[string]string {
	m := make(map[string]string, len(n.ports))
	for name, port := range n.ports {
		m[name] = net.JoinHostPort(host, strconv.Itoa(port))
	}
	return m
}

func (n *node) releasePorts() {
	for _, held := range n.held {
		_ = held.Close() // frees the port, even with an error
	}
}

func (n *node) dataDir() string { return filepath.Join(n.dir, "data") }
func (n *node) logPath() string { return filepath.Join(n.dir, "log") }

func (n *node) configPath() string { return filepath.Join(n.dataDir(), process.ConfigFile) }

// maxLog bounds the output of a node that is returned: its end, in bytes.
const maxLog = 2 << 20

func (n *node) log(context.Context) (string, error) {
	return strings.ToValidUTF8(string(readLog(n.logPath(), maxLog)), "\uFFFD"), nil
}

func (n *node) current() *child {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.child
}

// running returns the live incarnation, nil if there is none.
func (n *node) running() *child {
	if c := n.current(); c != nil && !signals.Closed(c.gone) {
		return c
	}
	return nil
}

// state returns the state as [Client.State] does, and the process ID; 0 if none runs.
func (n *node) state() (state string, pid int) {
	c := n.current()
	switch {
	case c == nil:
		return "reserved", 0
	case signals.Closed(c.gone):
		return history.NodeEnded, 0
	case c.isPaused():
		return history.NodePaused, c.pid
	case signals.Closed(c.ready):
		return history.NodeReady, c.pid
	default:
		return "starting", c.pid
	}
}

// lock locks the node for an operation.
func (n *node) lock() error {
	n.op.Lock()
	if n.removed {
		n.op.Unlock()
		return fmt.Errorf("node %s was removed: %w", n.name, httpapi.ErrNotFound)
	}
	return nil
}

// start starts a node with an empty data directory and returns when it is ready.
// Only a node's first start since it was reserved founds a service of servers (process.Config.First).
// After a stop of all raft servers, reset the agents first: otherwise no server founds the service.
func (n *node) start(ctx context.Context, spec NodeSpec) error {
	return n.begin(ctx, true, func() error {
		if n.running() != nil {
			return fmt.Errorf("node %s runs: stop it first: %w", n.name, httpapi.ErrConflict)
		}
		n.spec = spec
		return nil
	})
}

// restart kills a node if it runs, starts it again with the same addresses and settings, and returns when it is
// ready.
func (n *node) restart(ctx context.Context, wipe bool) error {
	return n.begin(ctx, wipe, func() error {
		if n.current() == nil {
			return fmt.Errorf("restart %s: it was never started: %w", n.name, httpapi.ErrConflict)
		}
		n.kill()
		return nil
	})
}

// begin prepares the node and starts the next incarnation.
func (n *node) begin(ctx context.Context, wipe bool, prepare func() error) error {
	err := n.lock()
	if err != nil {
		return err
	}
	var c *child
	if err = prepare(); err == nil {
		c, err = n.spawn(wipe)
	}
	n.op.Unlock()
	if err != nil {
		return err
	}
	if err = n.awaitReady(ctx, c); err == nil && wipe && n.spec.Disk == diskfault.Power {
		err = n.disk.WatchPower(filepath.Join(n.dir, "kept")) // the data of its start count as durable
	}
	return err
}

// spawn starts the next incarnation. The caller has locked the node.
func (n *node) spawn(wipe bool) (_ *child, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("node %s: %w", n.name, err)
		}
	}()
	if wipe {
		if err := os.RemoveAll(n.dataDir()); err != nil {
			return nil, fmt.Errorf("wipe data: %w", err)
		}
	}
	if err := os.MkdirAll(n.dataDir(), 0o700); err != nil {
		return nil, fmt.Errorf("create data dir: %w", err)
	}
	var env []string
	if n.role.Env != nil {
		if env, err = n.role.Env(n.spec.Settings); err != nil {
			return nil, fmt.Errorf("role %s: %w: %w", n.role.Name, err, httpapi.ErrInvalid)
		}
	}
	if err := n.writeConfig(); err != nil {
		return nil, err
	}
	if n.spec.Disk != "" {
		n.prepareDisk(wipe)
	}
	c, err := n.startChild(env)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.child = c
	n.mu.Unlock()
	if n.agent.ctx.Err() != nil { // Close may have missed this child
		c.end(history.NodeKilled, syscall.SIGKILL)
	}
	return c, nil
}

// startChild starts the next incarnation. The caller has locked the node.
func (n *node) startChild(env []string) (*child, error) {
	a := n.agent
	f, err := openFiles(n.logPath(), n.spec.Disk)
	if err != nil {
		return nil, err
	}
	args := []string{"node", n.role.Name, "--config", n.configPath()}
	if f.disk != nil { // the executable starts itself, with its calls watched
		fd := 1 + len(f.given) // in the process, after standard output and error
		args = append([]string{"node", "disk", "--"}, diskfault.Command(fd, n.spec.Disk, a.cfg.Executable, args)...)
	}
	cmd := exec.Command(a.cfg.Executable, args...) //nolint:noctx // outlives the request
	cmd.Dir, cmd.Env = n.dataDir(), slices.Concat(a.env, env)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = f.given[0], f.log, f.log, f.given[1:]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := &child{
		node: n, cmd: cmd, clock: n.role.OwnClock || n.role.FakeClock && n.spec.FakeClock, events: a.eventLog(),
		ready: make(chan struct{}), gone: make(chan struct{}),
	}
	asked := clock.Mono()
	started := make(chan error, 1)
	err = a.adopt(func() {
		defer pdeathsig.Set(cmd)()
		err := cmd.Start()
		if err == nil {
			c.pid, c.orders = cmd.Process.Pid, rpc.NewClient(f)
			c.record(history.NodeStarted, asked)
		}
		if started <- err; err == nil {
			c.supervise(f)
		}
	})
	if err == nil {
		err = <-started
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("start %s: %w: %w", cmd.Path, err, ErrStart)
	}
	closeAll(append(f.given, f.log)...)
	if f.disk != nil {
		n.serveDisk(f.disk, c.gone)
	}
	return c, nil
}

// writeConfig writes the file that process.Run reads.
func (n *node) writeConfig() error {
	cfg := n.agent.cfg
	data, err := json.Marshal(process.Config{
		Name: n.name, Role: n.role.Name, Host: cfg.Host, First: n.current() == nil, Dir: n.dataDir(),
		Addrs: n.addrs(cfg.Bind), Settings: n.spec.Settings,
		FakeClock: n.spec.FakeClock && n.role.FakeClock, Skew: n.skewNow(),
	})
	if err == nil {
		err = os.WriteFile(n.configPath(), data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	return nil
}

// awaitReady returns when the incarnation is ready. If it is not ready in time, awaitReady kills it, and the
// error shows the end of its log.
func (n *node) awaitReady(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, n.agent.cfg.StartTimeout)
	defer cancel()
	stop := context.AfterFunc(n.agent.ctx, cancel) //nolint:contextcheck // the agent's end ends the wait, too
	defer stop()
	var cause error
	select {
	case <-c.ready:
		return nil
	case <-c.gone:
		cause = errors.New("it ended")
		if c.exit != "" {
			cause = fmt.Errorf("it ended with %s", c.exit)
		}
	case <-ctx.Done():
		cause = fmt.Errorf("it was not ready within %s: %w: %w", n.agent.cfg.StartTimeout, ErrLate, ctx.Err())
	}
	c.end(history.NodeKilled, syscall.SIGKILL)
	<-c.gone
	said := "its log is empty"
	if lines := lastLines(n.logPath()); len(lines) > 0 {
		said = "the end of its log:\n" + strings.Join(lines, "\n")
	}
	return fmt.Errorf("start %s: %w: %w; %s", n.name, cause, ErrStart, said)
}

// kill kills the live incarnation, if there is one, and waits until it is gone.
func (n *node) kill() {
	if c := n.running(); c != nil {
		c.end(history.NodeKilled, syscall.SIGKILL)
		<-c.gone
	}
}

// stop ends the live incarnation, if there is one: with SIGTERM, and after StopGrace with SIGKILL.
func (n *node) stop() {
	c := n.running()
	if c == nil {
		return
	}
	c.end(history.NodeStopped, syscall.SIGTERM)
	if _, gone := clock.Await(clock.System(), n.agent.cfg.StopGrace, c.gone); !gone {
		c.end(history.NodeStopped, syscall.SIGKILL)
		<-c.gone
	}
}

// pause stops a node with SIGSTOP, at once or at a point, and returns once it has stopped.
func (n *node) pause(ctx context.Context, at process.PauseAt) error {
	c := n.running()
	switch {
	case c == nil:
		return fmt.Errorf("pause %s: %w", n.name, errDown)
	case at.Point == "":
		return c.pause(clock.Mono())
	}
	return c.pauseAt(ctx, at)
}

func (n *node) resume(context.Context, struct{}) error {
	c := n.running()
	if c == nil {
		return fmt.Errorf("resume %s: %w", n.name, errDown)
	}
	return c.resume()
}

// setClock sets the offset and the rate of the node's wall clock: 1 is right. A node that is
// down starts with them.
func (n *node) setClock(ctx context.Context, skew process.Skew) error {
	if _, err := askClock[struct{}](ctx, n, "SetClock", skew); err != nil && !errors.Is(err, errDown) {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.skew, n.skewed = skew, clock.System().Now()
	return nil
}

// skewNow returns the present skew of the node's clock, drift included; nil if it was never set.
func (n *node) skewNow() *process.Skew {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.skewed.IsZero() {
		return nil
	}
	gained := time.Duration(float64(clock.System().Now().Sub(n.skewed)) * (n.skew.Rate - 1))
	return &process.Skew{Offset: n.skew.Offset + gained, Rate: n.skew.Rate}
}

// clockNow asks the node for the time, and returns its difference to this machine's, in ns, with an error of at
// most half of the time that the answer took.
func (n *node) clockNow(ctx context.Context) (offNS int64, err error) {
	before := clock.System().Now()
	now, err := askClock[time.Time](ctx, n, "ReadClock", struct{}{})
	took := clock.System().Now().Sub(before)
	return int64(now.Sub(before.Add(took / 2))), err
}

var errDown = fmt.Errorf("it does not run: %w", httpapi.ErrConflict)

// askClock sends the node an order to set its clock, or to read it.
func askClock[Out any](ctx context.Context, n *node, method string, in any) (out Out, err error) {
	c := n.current()
	switch {
	case c == nil || !c.clock:
		err = fmt.Errorf("it was not started with a clock that can be set: %w", httpapi.ErrConflict)
	case signals.Closed(c.gone):
		err = errDown
	case !signals.Closed(c.ready):
		err = fmt.Errorf("it is not ready: %w", httpapi.ErrConflict)
	default:
		out, err = ask[Out](ctx, c.orders, method, in)
	}
	if err != nil {
		err = fmt.Errorf("clock of node %s: %w", n.name, err)
	}
	return out, err
}

// setDisk makes the node's disk slow or full, or neither.
func (n *node) setDisk(ctx context.Context, disk damage.Disk) error {
	if _, err := n.diskSeen(ctx); err != nil {
		return err
	}
	n.disk.Set(disk)
	return nil
}

// diskSeen returns the fault of the node's disk, and its effects since it was set.
func (n *node) diskSeen(context.Context) (seen damage.Seen, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disk == nil {
		return seen, fmt.Errorf("node %s was not started with a disk that can get slow or full: %w",
			n.name, httpapi.ErrConflict)
	}
	return n.disk.Seen(), nil
}

// prepareDisk makes the disk of a node that is about to start; wiped says that its data were deleted.
func (n *node) prepareDisk(wiped bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.disk == nil {
		n.disk = diskfault.New(n.dataDir())
	}
	if wiped {
		n.disk.Close()
	}
}

// cutPower kills the node if it runs, and removes its unsynced data.
func (n *node) cutPower(how damage.Power) (lost history.Lost, err error) {
	if err := n.lock(); err != nil {
		return lost, err
	}
	defer n.op.Unlock()
	if n.kill(); n.disk != nil {
		lost, err = n.disk.CutPower(how)
		lost.Node = n.name
	} else {
		err = diskfault.ErrNotWatched
	}
	if err != nil {
		err = fmt.Errorf("cut the power of node %s: %w: %w", n.name, err, httpapi.ErrConflict)
	}
	return lost, err
}

// serveDisk answers the watched calls of an incarnation until it is gone.
func (n *node) serveDisk(socket *os.File, gone <-chan struct{}) {
	n.agent.children.Go(func() {
		if err := n.disk.Serve(socket, gone); err != nil {
			n.agent.cfg.Log.Error("the calls of a node are not watched any more", "node", n.name, "error", err)
		}
	})
}
